-- {…} stands for what the two databases call differently.

-- head: one row. Where the journal ends, who writes it, and the size of the segment
-- that is open.
CREATE TABLE head (
	id {rowid},
	epoch {int} NOT NULL,
	holder {text} NOT NULL,
	seq {int} NOT NULL,
	segment {int} NOT NULL,
	at {int} NOT NULL,
	chain {blob} NOT NULL,
	began {int} NOT NULL,
	lines {int} NOT NULL,
	bytes {int} NOT NULL,
	sum {int} NOT NULL
) {end};

-- anchor: one row. The last batch that retention removed; the chain begins there.
CREATE TABLE anchor (
	id {rowid},
	seq {int} NOT NULL,
	chain {blob} NOT NULL,
	sum {int} NOT NULL
) {end};

-- segment: those that are complete.
CREATE TABLE segment (
	segment {rowid},
	last {int} NOT NULL,
	began {int} NOT NULL,
	ended {int} NOT NULL,
	lines {int} NOT NULL,
	bytes {int} NOT NULL,
	sum {int} NOT NULL
) {end};

CREATE TABLE batch (
	seq {rowid},
	segment {int} NOT NULL,
	epoch {int} NOT NULL,
	at {int} NOT NULL,
	lines {int} NOT NULL,
	body {blob} NOT NULL,
	chain {blob} NOT NULL
) {end};

CREATE TABLE ended (
	number {rowid},
	id {text} NOT NULL,
	owner {text} NOT NULL,
	team {text} NOT NULL,
	name {text} NOT NULL,
	state {text} NOT NULL,
	submitted {int} NOT NULL,
	started {int} NOT NULL,
	ended {int} NOT NULL,
	gpu_milli_ms {int} NOT NULL,
	body {blob} NOT NULL,
	sum {int} NOT NULL
) {end};
CREATE INDEX ended_time ON ended (ended, number);
CREATE INDEX ended_owner ON ended (owner, ended, number);
CREATE INDEX ended_team ON ended (team, ended, number);
CREATE INDEX ended_id ON ended (id);

CREATE TABLE ledger_hour (
	hour {int} NOT NULL,
	account {text} NOT NULL,
	owner {text} NOT NULL,
	allocated {int} NOT NULL,
	unallocated {int} NOT NULL,
	lost {int} NOT NULL,
	demand {int} NOT NULL,
	sum {int} NOT NULL,
	PRIMARY KEY (hour, account, owner)
) {end};

CREATE TABLE request_key (
	name {text} NOT NULL PRIMARY KEY,
	at {int} NOT NULL,
	body {blob} NOT NULL,
	sum {int} NOT NULL
) {end};
CREATE INDEX request_key_time ON request_key (at);

CREATE TABLE doc (
	name {text} NOT NULL PRIMARY KEY,
	version {int} NOT NULL,
	body {blob} NOT NULL,
	sum {int} NOT NULL
) {end};
