#!/usr/bin/env bash
# Fuzz the readers of test/readers, all in one binary.
#
#   scripts/fuzz.sh [COUNT] [PATTERN]   runs each reader on COUNT (5000) texts with random changes; prints the seed, and SEED=… repeats a run
#   scripts/fuzz.sh TIME [PATTERN]      runs each reader for a time such as 10m: Go's engine looks for texts that run other code
#
# PATTERN selects the readers whose name matches it. Go's engine needs instrumented code, and building that takes longer than 5,000
# texts per reader. So CI uses random changes, with the same checks.
set -euo pipefail
cd "$(dirname "$0")/.."

amount=${1:-5000}
pattern=${2:-.}

if [[ $amount =~ ^[0-9]+x?$ ]]; then
	seed=${SEED:-$RANDOM}
	echo "fuzz: $amount changed texts for each reader, SEED=$seed"
	GOGC=${GOGC:-800} go test -vet=off -count=1 -timeout 0 ./test/readers -run "^TestChangedTexts\$/$pattern" -args -inputs "${amount%x}" -seed "$seed"
	exit
fi

binary=$(mktemp)
trap 'rm -f "$binary"' EXIT
module=$(go list -m)
# -fuzz would also instrument the standard library and all dependencies.
go test -c -vet=off -ldflags '-s -w' -gcflags "$module/...=-d=libfuzzer" -o "$binary" ./test/readers
cache=$(go env GOCACHE)/fuzz/$module/test/readers
cd test/readers
count=0
for reader in $(grep -ohE '(name: |word\()"[a-z-]+"' -- *_test.go | cut -d'"' -f2 | sort -u); do
	[[ $reader =~ $pattern ]] || continue
	echo "fuzz $reader for $amount"
	# With Go's default a short run would spend most of its time on minimising the texts that it finds.
	"$binary" -test.run '^$' -test.fuzz '^FuzzReaders$' -test.fuzztime "$amount" -test.fuzzminimizetime 10x \
		-test.fuzzcachedir "$cache/$reader" -test.paniconexit0 -reader "$reader" </dev/null
	count=$((count + 1))
done
if [ "$count" = 0 ]; then
	echo "no reader's name matches '$pattern'" >&2
	exit 1
fi
echo "$count readers ran"
