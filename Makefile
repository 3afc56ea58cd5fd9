# Thin: each target is one command that can be run by hand.
.PHONY: build test quick lint bench fuzz soak demo clean highs

# With the exact solver where its file can be had; without it all but that works.
build:
	./scripts/build.sh

# All tests, as CI runs them.
test:
	./scripts/test.sh

# The fast half: what to run while editing.
quick:
	go test -short ./...

lint:
	go tool -modfile=tools/go.mod golangci-lint run ./...

bench:
	go test -run '^$$' -bench . -benchmem ./...

# Each fuzz target for a minute.
fuzz:
	./scripts/fuzz.sh 60s

# What the daemon survives, for long: hundreds of kills, power cuts, days of a busy lab. About an hour.
soak:
	./scripts/soak.sh

# The exact solver's file, for builds with -tags highs.
highs:
	./scripts/fetch-highs.sh

demo:
	go run ./cmd/escala compare

clean:
	rm -rf bin report.html
