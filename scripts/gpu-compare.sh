#!/usr/bin/env bash
# Compare zbench with other programs on a machine with a GPU, one table per row of the
# comparison. Needs bash and two binaries, but not Go.
#
#   ZBENCH=bin/zbench scripts/gpu-compare.sh bin/gpu-compare [ROW…]
#
# ROWs are memory norm products newton-schulz prepare burst gemm. Without a ROW, all of them
# run one after the other. A row takes less than nine minutes (LIMIT seconds, 530), so that
# it fits where a command may take ten. compare.md, compare.csv and output.txt of a row go
# to $OUT/ROW (OUT is gpu-compare-DATE by default); the tables grow with each figure.
# CONTRIBUTING.md says what the rows need. Exits with 1 when a row missed a bar, 2 when used
# wrongly, 5 when there is no GPU or no library.
set -uo pipefail

declare -A tests=([memory]=Memory [norm]=Norm [products]=Products [newton-schulz]=NewtonSchulz [prepare]=Prepare [burst]=Burst [gemm]=Gemm)
order=(memory norm products newton-schulz prepare burst gemm)

if [ $# -lt 1 ] || [ -z "${ZBENCH-}" ]; then
	echo "usage: ZBENCH=FILE ${0##*/} PROGRAM [ROW…]" >&2
	exit 2
fi
program=$1
shift
rows=("${@:-${order[@]}}")
for row in "${rows[@]}"; do
	if [ -z "${tests[$row]-}" ]; then
		echo "unknown row $row: valid are ${order[*]}" >&2
		exit 2
	fi
done
to=${OUT:-gpu-compare-$(date +%Y%m%d-%H%M%S)}
missed=0
for row in "${rows[@]}"; do
	mkdir -p "$to/$row" || exit 2
	start=$SECONDS
	OUT=$to/$row "$program" -test.v -test.run "^TestGPU${tests[$row]}\$" >"$to/$row/output.txt" 2>&1
	code=$?
	echo "== $row: exit code $code, $((SECONDS - start)) s, $to/$row"
	cat "$to/$row/compare.md" 2>/dev/null || tail -3 "$to/$row/output.txt"
	[ $code -eq 5 ] && exit 5
	[ $code -eq 0 ] || missed=1
done
exit $missed
