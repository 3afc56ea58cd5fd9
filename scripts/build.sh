#!/usr/bin/env bash
# Builds bin/escala, with the HiGHS solver if its file is there or can be fetched (npm).
set -euo pipefail
cd "$(dirname "$0")/.."
tags=''
if ./scripts/fetch-highs.sh; then
	tags=highs
else
	echo 'building without HiGHS: escala plan --mode full searches, and proves less' >&2
fi
go build -trimpath -tags "$tags" -o bin/escala ./cmd/escala
