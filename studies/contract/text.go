package main

// The words of the document that are not about its figures; those are in claims.go.

const intro = "What does a lab gain that replaces priorities which anybody may claim by budgets and contracts? " +
	"Two shipped [policies](../policies.md) schedule the same made-up [lab](../lab.md): `legacy-priority`, with priorities, " +
	"jobs that their owners exempt from preemption, and GPUs held by parked jobs; and `contract`, with shares, " +
	"minimum runtimes that are safe, and unallocated work in what is left. Then `contract` runs without its reservations, " +
	"and its knobs are turned one at a time. All is simulated."

const reading = `**Reading the tables.** "12.3 [11.0, 13.5]" is a mean over seeds and its 95 % bootstrap interval.
Differences are paired by seed ([metrics](../metrics.md#comparing-policies)). All figures are those of
[metrics](../metrics.md); waits are to the first start. A percentile is that of one seed, and then the mean over
seeds: one bad seed shows in it. A job that was withdrawn before it started, or still waits when the run is
cut, enters with its wait so far. ≥ marks a mean in which the percentile of some seed may be such a lower bound
and at least one in 200 of the jobs never started; fewer could not move it by more than half a percentile.
Differences of bounds are not marked. *Never started* counts both. *Evicted twice* counts stops of allocated
work within 3 h of the job's last one. Plain text after the tables is checked against the figures when the
page is written, and says so where they do not bear it out.`

const goalsText = "They were set before the study ran. Means over seeds are judged, unless it says each seed; where two figures " +
	"stand together both have to do. A date is kept where the job starts by the first date it was promised; of the others " +
	"jobs were withdrawn before their date, or it was still to come. `1.7, 6 %` is `contract` with debug nodes of 6 % instead of 4 %."

const publishedText = "Ai2, *Impactful scheduling for GPU clusters* (2026), tells what its clusters came to. How much was asked " +
	"for is not published, so none of the regimes is theirs; the unallocated share is nearest at 0.75. Arrows go from before " +
	"to after, here from `legacy-priority` to `contract`. The published median and p90 are those of the largest cluster, of which jobs " +
	"is not said; beside them stand those of allocated work other than debug. Waits of all jobs together would be those of " +
	"the sweeps' backlog."

const weak = `- **One lab, made up.** No trace of such a lab is public. Sizes, durations and loads are choices ([lab](../lab.md));
  all seeds share them, so the intervals say nothing about another lab.
- **Nobody reacts.** People submit the same whatever the policy makes of it. 40 % of trainings declare the longest
  minimum runtime; if it pays, more would. A team that used its week's share early could hold back, or ask for more.
- **The world before is assumed.** Parked jobs on 15 % of the cluster, who claims which priority, what is exempt:
  much of what ` + "`legacy-priority`" + ` loses rests on that. Nothing in it was fitted to the published clusters.
- **There is always something to fill with.** All work asks for 2.5 times the cluster. That is why occupancy is near
  100 % under every policy, and why it is no achievement of any.
- **Saving state is easy.** On signal it always works, within 2 min; a restart costs 5 min at any size. Large runs
  are not that lucky. The plain kill is the other end.
- **Not modelled:** node failures and repairs (the published 74 % fewer by hand has no counterpart), GPU types,
  topology, idle sessions, deadlines, dependencies, budgets that end.
- **Few large jobs.** A seed has some dozens of more than 64 GPUs. Their p90 rests on a handful of jobs and its intervals are wide.
- **Waits end with patience.** A debug job is withdrawn after 4 h, a training after 1 to 4 days (3 to 8 if large).
  Percentiles cannot exceed that.
- **Owed depends on the policy,** since what waits is demand. The larger owed of both policies as the one denominator is
  given beside it, and judges alike.
- **Knobs** were turned one at a time over three seeds, with plain checkpoints on signal. Two turned together may do something else.`
