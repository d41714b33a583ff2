#!/usr/bin/env bash
# Run every fuzz target in turn, each for as many inputs as given (default
# 5000x; a time such as 10m is taken too).
#
#   scripts/fuzz.sh [COUNT|TIME] [PATTERN]
#
# A count is the default because go test can report the end of its own time as
# a failure ("context deadline exceeded") where no input failed.
# PATTERN keeps the targets whose name matches it. A test binary runs one target
# at a time, so they are listed from the sources; a package's binary is built once.
set -euo pipefail
cd "$(dirname "$0")/.."

amount=${1:-5000x}
pattern=${2:-.}

targets=$(grep -rEo --include='*_test.go' --exclude-dir=test --exclude-dir=tools '^func Fuzz[A-Za-z0-9_]+' . |
	sed -E 's|^\./(.*)/[^/]+:func |\1 |' | sort)
binaries=$(mktemp -d)
trap 'rm -rf "$binaries"' EXIT
module=$(go list -m)
corpora=$(go env GOCACHE)/fuzz
count=0
while read -r folder target; do
	[[ $target =~ $pattern ]] || continue
	echo "fuzz $folder $target for $amount"
	binary=$binaries/${folder//\//-}.test
	# -fuzz would instrument the standard library and all dependencies, too: that costs more
	# than the fuzzing, and inputs are to cover the code of this module. internal/native is left out: its C
	# would be compiled once more.
	[ -x "$binary" ] || go test -c -vet=off -ldflags '-s -w' -gcflags "$module/...=-d=libfuzzer" -gcflags "$module/internal/native=" -o "$binary" "./$folder"
	# By default most of a short run is spent on making finds smaller.
	(cd "$folder" && "$binary" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "$amount" -test.fuzzminimizetime 10x \
		-test.fuzzcachedir "$corpora/$module/$folder" -test.paniconexit0) </dev/null
	count=$((count + 1))
done <<<"$targets"

if [ "$count" = 0 ]; then
	echo "no fuzz target matches '$pattern'" >&2
	exit 1
fi
echo "$count fuzz targets ran"
