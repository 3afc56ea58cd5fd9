#!/usr/bin/env bash
# All tests: format, vet, lint, unit, property, golden and command-line tests with
# the race detector where code is concurrent, fuzz seeds, build, smoke test.
# Needs Go; tools come as Go modules at the versions of tools/go.mod. Where npm can
# be reached the exact solver is tested too.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$1"; }

step 'gofmt'
unformatted=$(gofmt -l $(git ls-files '*.go'))
if [ -n "$unformatted" ]; then
	printf 'gofmt would change:\n%s\n' "$unformatted"
	exit 1
fi

step 'go vet'
go vet ./...

step 'golangci-lint'
go tool -modfile=tools/go.mod golangci-lint run ./...

step 'tests'
go test ./...

step 'race detector'
go test -short -race ./internal/... ./cmd/... ./sim ./metrics

step 'HiGHS'
if ./scripts/fetch-highs.sh; then
	go vet -tags highs ./internal/highs ./internal/exact ./internal/cli
	go tool -modfile=tools/go.mod golangci-lint run --build-tags highs ./internal/highs/... ./internal/exact/...
	go test -tags highs ./internal/highs ./internal/exact
else
	echo 'skipped: its file is not there and npm could not get it'
fi

step 'build'
./scripts/build.sh

step 'smoke: compare on the embedded trace'
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
./bin/escala compare --output json --report "$dir/report.html" >"$dir/out.json"
test -s "$dir/report.html"
grep -q '"schemaVersion"' "$dir/out.json"
./bin/escala compare --report "$dir/report.html"
