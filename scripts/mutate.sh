#!/usr/bin/env bash
# Make each mistake of scripts/mutations/ in a copy of the tree and see whether
# the tests turn red.
#
#   scripts/mutate.sh [NAME...]
#
# Names keep those mutations; without any all run, and before them the tests on
# the copy as it is. A mistake that no test notices is an error, and so is one
# that does not apply or does not compile.
#
# A mistake is a block of [name], "file: ", what it "does: " to a figure, and the
# text that it changes "from: " and "to: ", with \n for a line break. The text
# must stand in the file exactly once.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(./bench/plan ./internal/native ./rccl)
# Tests of the kernels, the fake and the loader: they take long, and nothing of
# the driver is in them.
skip='^TestKernel|^TestFake|^TestLibrary|^TestTwoRuntimes|^TestSameThroughDlopen|^TestSeveralRanks|^TestModel'

table=(scripts/mutations/*.txt)
copy=$(mktemp -d)
trap 'rm -rf "$copy" "$copy.bin" "$copy.log"' EXIT
git ls-files -z --cached --others --exclude-standard |
	while IFS= read -r -d '' f; do [ ! -f "$f" ] || printf '%s\0' "$f"; done |
	xargs -0 cp --parents -t "$copy"

# The kernels take most of a build and no mutation is in them: they are compiled
# once. The compiler goes by a name, for its path would be in the cache's keys.
mkdir "$copy.bin"
cat >"$copy.bin/zbench-mutate-c++" <<END
#!/usr/bin/env bash
set -euo pipefail
if [[ " \$* " == *" -c unity.cc "* ]]; then
	while [ "\$1" != -o ]; do set -- "\${@:2}" "\$1"; done
	[ -f "$copy.bin/kernels.o" ] || { c++ "\$@" && exec cp "\$2" "$copy.bin/kernels.o"; }
	exec cp "$copy.bin/kernels.o" "\$2"
fi
exec c++ "\$@"
END
chmod +x "$copy.bin/zbench-mutate-c++"
export PATH=$copy.bin:$PATH CXX=zbench-mutate-c++

# field NAME KEY prints what stands behind the key, line breaks made.
field() {
	local text
	text=$(awk -v name="[$1]" -v key="$2:" '
		/^\[/ { here = $0 == name }
		here && index($0, key) == 1 { print substr($0, length(key) + 1); exit }' "${table[@]}")
	text=${text# }
	printf '%s' "${text//\\n/$'\n'}"
}

# run_tests says nothing when all pass, else the first that did not; then the
# rest is ended, for some mistakes make a test wait for its time limit.
# -trimpath lets copies in other folders share the build cache.
run_tests() {
	local log=$copy.log tests code=0
	(cd "$copy" && exec setsid go test -trimpath -vet=off -short -failfast -timeout 60s \
		-skip "$skip" "${packages[@]}") >"$log" 2>&1 &
	tests=$!
	while kill -0 "$tests" 2>/dev/null; do
		if grep -q '^ *--- FAIL' "$log"; then
			kill -- "-$tests" 2>/dev/null || true
			break
		fi
		sleep 0.1
	done
	wait "$tests" || code=$?
	[ "$code" != 0 ] || return 0
	grep -m 1 -oE '^ *--- FAIL: [^ ]+|^panic: test timed out|^SIG[A-Z]+' "$log" && return
	cat "$log" >&2
	echo "the tests do not run" >&2
	return 2
}

# apply NAME changes the one place in the copy.
apply() {
	local file from to text rest
	file=$(field "$1" file) from=$(field "$1" from; printf .) to=$(field "$1" to; printf .)
	from=${from%.} to=${to%.}
	if [ -z "$file" ] || [ -z "$from" ]; then
		echo "no mutation named $1 in scripts/mutations/" >&2
		exit 2
	fi
	text=$(cat "$file"; printf .)
	rest=${text#*"$from"}
	if [ "$rest" = "$text" ] || [ "${rest#*"$from"}" != "$rest" ]; then
		echo "$1: the text is not found exactly once in $file" >&2
		exit 2
	fi
	text="${text%%"$from"*}$to$rest"
	printf '%s' "${text%.}" >"$copy/$file"
	if ! (cd "$copy" && go build -trimpath ./internal/native ./rccl ./bench/plan) >"$copy.log" 2>&1; then
		cat "$copy.log" >&2
		echo "$1: does not compile" >&2
		exit 2
	fi
}

names=("$@")
if [ $# = 0 ]; then
	mapfile -t names < <(sed -nE 's/^\[(.*)\]$/\1/p' "${table[@]}")
	red=$(run_tests)
	if [ -n "$red" ]; then
		echo "the tests fail without any mutation: $red" >&2
		exit 1
	fi
fi
survived=0
for name in "${names[@]}"; do
	apply "$name"
	red=$(run_tests)
	if [ -n "$red" ]; then
		printf 'RED       %-32s %s\n' "$name" "${red##*: }"
	else
		printf 'SURVIVED  %s\n' "$name"
		survived=$((survived + 1))
	fi
	file=$(field "$name" file)
	cp -p "$file" "$copy/$file"
done
echo "${#names[@]} mutations, $survived survived"
[ "$survived" = 0 ]
