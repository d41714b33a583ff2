#!/usr/bin/env bash
# Make each mistake of scripts/mutations/ in a copy of the tree and see whether
# the tests turn red.
#
#   scripts/mutate.sh [NAME...]
#
# Names keep those mutations; without any all run, and before them the tests on
# the copy as it is. A mistake that no test notices is an error, and so is one
# that does not apply or does not compile. JOBS of them run at once (2).
#
# A mistake is a block of [name], "file: ", what it "does: " to a figure, and the
# text that it changes "from: " and "to: ", with \n for a line break. The text
# must stand in the file exactly once. "test: " names the package and the test
# that notice it. If that test does not, or the block has no such line, all tests
# run, and the line to write is printed.
#
# With ccache, as `make mutations` sets it, the kernels are compiled once.
set -euo pipefail
cd "$(dirname "$0")/.."

# Tests of the kernels, the fake and the loader: they take long, and nothing of
# the driver is in them.
skip='^TestKernel|^TestFake|^TestLibrary|^TestTwoRuntimes|^TestSameThroughDlopen|^TestSeveralRanks|^TestModel'
table=(scripts/mutations/*.txt)

# field NAME KEY prints what stands behind the key, line breaks made.
field() {
	local text
	text=$(awk -v name="[$1]" -v key="$2:" '
		/^\[/ { here = $0 == name }
		here && index($0, key) == 1 { print substr($0, length(key) + 1); exit }' "${table[@]}")
	text=${text# }
	printf '%s' "${text//\\n/$'\n'}"
}

# red COPY PACKAGE [FLAG…] runs the package's tests and prints the first that fails;
# then the rest is ended, for some mistakes make a test wait for its time limit. It
# returns 1 if all pass and 2 if they do not compile. -trimpath lets copies in other
# folders share the build cache.
red() {
	local copy=$1 package=$2 log=$1.log tests code=0
	if ! (cd "$copy" && go test -c -trimpath -vet=off -ldflags '-s -w' -o "$copy.test" "./$package") >"$log" 2>&1; then
		cat "$log" >&2
		return 2
	fi
	(cd "$copy/$package" && exec setsid "$copy.test" -test.short -test.failfast "${@:3}") >"$log" 2>&1 &
	tests=$!
	while kill -0 "$tests" 2>/dev/null; do
		if grep -q '^ *--- FAIL' "$log"; then
			kill -- "-$tests" 2>/dev/null || true
			break
		fi
		sleep 0.1
	done
	wait "$tests" || code=$?
	[ "$code" != 0 ] || return 1
	awk '/^ *--- FAIL:/ { print $3; found = 1; exit }
		/running tests:/ { getline; print $1; found = 1; exit } # of one that waits for the time limit
		/^SIG[A-Z]+/ { print $1; found = 1; exit }
		END { exit !found }' "$log" && return
	cat "$log" >&2
	echo "the tests of $package do not run" >&2
	return 2
}

# red_anywhere COPY [FILE] prints PACKAGE and the first test that fails, of the packages
# whose tests are built of FILE.
red_anywhere() {
	local package packages failed code
	case ${2:-bench/} in
	bench/*) packages=(bench/plan rccl internal/native) ;;
	internal/native/c/fake/* | internal/native/c/shared/*) packages=() ;; # their rules have tests of their own
	internal/*) packages=(internal/native rccl) ;;
	*) packages=(rccl) ;;
	esac
	for package in "${packages[@]}"; do
		code=0
		failed=$(red "$1" "$package" -test.timeout 5m -test.skip "$skip") || code=$?
		case $code in
		0)
			echo "$package $failed"
			return
			;;
		2) return 2 ;;
		esac
	done
	return 1
}

# apply NAME COPY changes the one place in the copy.
apply() {
	local file from to text rest
	file=$(field "$1" file) from=$(field "$1" from; printf .) to=$(field "$1" to; printf .)
	from=${from%.} to=${to%.}
	if [ -z "$file" ] || [ -z "$from" ]; then
		echo "no mutation named $1 in scripts/mutations/" >&2
		return 2
	fi
	text=$(cat "$file"; printf .)
	rest=${text#*"$from"}
	if [ "$rest" = "$text" ] || [ "${rest#*"$from"}" != "$rest" ]; then
		echo "$1: the text is not found exactly once in $file" >&2
		return 2
	fi
	text="${text%%"$from"*}$to$rest"
	printf '%s' "${text%.}" >"$2/$file"
}

# try NAME COPY prints what becomes of one mutation: RED, SURVIVED or BROKEN.
try() {
	local name=$1 copy=$2 file package known failed='' code=1 limit=1m
	file=$(field "$name" file)
	read -r package known <<<"$(field "$name" test)" || true
	if ! apply "$name" "$copy"; then
		printf 'BROKEN    %s\n' "$name"
		return
	fi
	if [ -n "$known" ]; then
		code=0
		case $known in TestToolchain*) limit=3m ;; esac # they compile
		failed=$(ZBENCH_TOOLCHAIN=1 red "$copy" "$package" -test.timeout $limit -test.run "^$known\$") || code=$?
	fi
	if [ "$code" = 1 ]; then
		code=0
		failed=$(red_anywhere "$copy" "$file") || code=$?
		[ "$code" != 0 ] || failed="test: $failed"
	fi
	case $code in
	0) printf 'RED       %-32s %s\n' "$name" "$failed" ;;
	1) printf 'SURVIVED  %s\n' "$name" ;;
	*) printf 'BROKEN    %s\n' "$name" ;;
	esac
	cp -p "$file" "$copy/$file"
}

if [ "${1:-}" = --one ]; then # of xargs below: FOLDER NAME, in the copy of this slot
	try "$3" "$2/${SLOT:?}"
	exit
fi

jobs=${JOBS:-2}
copies=$(mktemp -d)
trap 'rm -rf "$copies"' EXIT
for ((i = 0; i < jobs; i++)); do
	mkdir "$copies/$i"
	git ls-files -z --cached --others --exclude-standard |
		while IFS= read -r -d '' f; do [ ! -f "$f" ] || printf '%s\0' "$f"; done |
		xargs -0 cp --parents -t "$copies/$i"
done

names=("$@")
if [ $# = 0 ]; then
	mapfile -t names < <(sed -nE 's/^\[(.*)\]$/\1/p' "${table[@]}")
	code=0
	failed=$(red_anywhere "$copies/0") || code=$?
	if [ "$code" != 1 ]; then
		echo "the tests fail without any mutation: $failed" >&2
		exit 1
	fi
fi
printf '%s\n' "${names[@]}" |
	xargs -P "$jobs" --process-slot-var=SLOT -d '\n' -n 1 scripts/mutate.sh --one "$copies" | tee "$copies/log"
survived=$(grep -c '^SURVIVED' "$copies/log" || true)
broken=$(grep -c '^BROKEN' "$copies/log" || true)
echo "${#names[@]} mutations, $survived survived, $broken did not apply or compile"
[ "$survived$broken" = 00 ]
