#!/usr/bin/env bash
# Measure how far the times of programs on the paced clock are from the model's.
#
#   scripts/paced.sh ZBENCH FOLDER [RUNS [PROGRAM…]]
#
# FOLDER has rccl-tests' programs: all_reduce_perf and others built without MPI, all_reduce_mpi
# and others built with MPI. PROGRAM is such a name without _perf or _mpi (default: all_reduce and
# sendrecv). Each program runs RUNS times (5) with one thread, with a thread per GPU, with a thread
# per GPU and a graph, and with mpirun. For each size the script prints how far busbw deviates from
# busbw of `zbench collectives`: the median in percent, with the smallest and the largest deviation.
# ARGS changes the sizes (-b 1M -e 64M -f 4). LIBRARIES names a folder of built libraries.
#
# The result depends on other work of the host, so run the script on a quiet host.
set -euo pipefail

if [ $# -lt 2 ]; then
	echo "usage: ${0##*/} ZBENCH FOLDER [RUNS [PROGRAM…]]" >&2
	exit 2
fi
zbench=$1 folder=$2 runs=${3:-5}
shift $(($# < 3 ? $# : 3))
programs=("${@:-all_reduce sendrecv}")
read -ra programs <<< "${programs[*]}"
read -ra sizes <<< "${ARGS:--b 1M -e 64M -f 4}"
# shellcheck source=scripts/programs.sh
source "$(dirname "$0")/programs.sh"
loopback_on paced

# deviations reads "bytes busbw" of many runs, and prints one line with all sizes.
deviations() {
	sort -n | awk 'NR == FNR { want[$1] = $2; next } $1 in want { print $1 + 0, ($2 / want[$1] - 1) * 100 }' "$work/want" - |
		sort -k1,1n -k2,2g | awk '
		function line() { if (n) printf " %8d: %6.2f [%.2f %.2f]", size, (v[int((n + 1) / 2)] + v[int(n / 2) + 1]) / 2, v[1], v[n] }
		$1 != size { line(); n = 0; size = $1 }
		{ v[++n] = $2 }
		END { line(); print "" }'
}

# measure TITLE COMMAND… runs a program RUNS times, and compares its out-of-place and in-place columns.
measure() {
	local title=$1
	shift
	printf '%-28s' "$title"
	for ((i = 0; i < runs; i++)); do
		"$@" "${sizes[@]}" -n 20 -w 5 -c 0 | columns
	done | deviations
}

for program in "${programs[@]}"; do
	one=$folder/${program}_perf many=$folder/${program}_mpi
	want "$program" -g 8
	measure "$program -g 8" "${loopback[@]}" -- "$one" -g 8
	want "$program"
	measure "$program -t 8" "${loopback[@]}" -- "$one" -t 8
	want "$program" -G 1
	measure "$program -t 8 -G 1" "${loopback[@]}" -- "$one" -t 8 -G 1
	if [ -x "$many" ]; then
		want "$program" --nodes 2
		measure "$program mpirun -np 16" "${loopback[@]}" --nodes 2 -- mpirun --map-by :OVERSUBSCRIBE -np 16 "$many"
	fi
done
