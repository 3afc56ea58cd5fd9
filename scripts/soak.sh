#!/usr/bin/env bash
# Tests of chance of everything that a live scheduler has to survive, for long: see docs/reliability.md.
set -euo pipefail
cd "$(dirname "$0")/.."
export ESCALA_SOAK=${1:-10}
go test -count 1 -timeout 2h -v ./internal/live ./internal/daemon ./internal/server ./internal/store ./internal/spool | grep -v '^=== '
go test -count 1 -timeout 1h ./internal/live -run TestRandomHistories -soak 500
