#!/usr/bin/env bash
# Puts the HiGHS solver, as WebAssembly, where builds with the tag "highs" embed it:
# internal/highs/highs.wasm, out of the npm package highs (MIT). Needs npm, and the
# registry npm is set up with. Does nothing when the file is there.
#
# The version and the checksums in internal/highs/highs.sha256 go with the names of
# functions in internal/highs/imports.go and instance.go: change all of them together.
set -euo pipefail
cd "$(dirname "$0")/../internal/highs"
version=1.15.3

# verified FOLDER FILE: whether the file has the checksum that is pinned for it.
verified() {
	local sum=sha256sum
	command -v sha256sum >/dev/null || sum='shasum -a 256'
	[ -f "$1/$2" ] && (cd "$1" && $sum "$2") | grep -qxFf highs.sha256
}

if verified . highs.wasm; then
	exit
fi
if ! command -v npm >/dev/null; then
	echo "$0: npm is missing; want it (Node.js) to get the package highs@$version" >&2
	exit 1
fi
dir=$(mktemp -d ./fetch.XXXXXX) # in this folder, so that the last step is a rename
trap 'rm -rf "$dir"' EXIT
(cd "$dir" && npm pack --loglevel=error "highs@$version" >/dev/null)
if ! verified "$dir" "highs-$version.tgz"; then
	echo "$0: what npm got for highs@$version is not the package pinned in internal/highs/highs.sha256" >&2
	exit 1
fi
tar -xzf "$dir/highs-$version.tgz" -C "$dir" package/build/highs.wasm
mv "$dir/package/build/highs.wasm" "$dir/highs.wasm"
if ! verified "$dir" highs.wasm; then
	echo "$0: highs.wasm in the package is not the one pinned in internal/highs/highs.sha256" >&2
	exit 1
fi
chmod 644 "$dir/highs.wasm"
mv "$dir/highs.wasm" highs.wasm
echo 'internal/highs/highs.wasm is there: go build -tags highs ./cmd/escala'
