#!/usr/bin/env bash
# Man pages of all commands, into a directory: ./scripts/man.sh man1
set -euo pipefail
dir=$(realpath -m "${1:?want a directory}")
cd "$(dirname "$0")/.."
go run ./cmd/escala docs man "$dir"
