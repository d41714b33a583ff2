#!/usr/bin/env bash
# Check that rccl-tests' programs run on the virtual clock and agree with `zbench collectives`.
#
#   scripts/virtual.sh ZBENCH FOLDER [PROGRAM…]
#
# FOLDER has the programs: all_reduce_perf and others built without MPI, all_reduce_mpi and
# others built with MPI. PROGRAM is such a name without _perf or _mpi (default: all of FOLDER). Each
# program runs with one thread, on the null stream (-y 1), with a graph (-G 1), with a thread per
# GPU, and with mpirun on two nodes, each time with sizes from 1 MiB (ARGS: -b 1M -e 1G -f 2) and
# from 8 bytes.
#
# A line per run has the largest deviation of busbw from zbench's in percent, with the size where
# it occurs (i means in place). A line is marked if the deviation is above LIMIT (0.5), if the
# program fails, or if it prints a figure that is not a number. In these cases the exit code is 1.
# zbench has no collective like hypercube, so hypercube only has to run.
#
# LIBRARIES names a folder of built libraries. THEIRS has more flags for the programs (-R 2 -x 2).
# OURS has the same settings as flags for zbench (--register window --cta-policy zero).
set -euo pipefail

if [ $# -lt 2 ]; then
	echo "usage: ${0##*/} ZBENCH FOLDER [PROGRAM…]" >&2
	exit 2
fi
zbench=$1 folder=$2 bad=0
shift 2
programs=("$@")
if [ $# = 0 ]; then
	for at in "$folder"/*_perf "$folder"/*_mpi; do
		[ ! -x "$at" ] || programs+=("$(basename "${at%_*}")")
	done
	mapfile -t programs < <(printf '%s\n' "${programs[@]}" | sort -u)
fi
read -ra sizes <<< "${ARGS:--b 1M -e 1G -f 2}"
small=(-b 8 -e 512K -f 2)
# shellcheck source=scripts/programs.sh
source "$(dirname "$0")/programs.sh"
loopback_on virtual

# expect PROGRAM FLAG… writes zbench's own figures, or an empty file if zbench lacks the collective.
expect() {
	case $1 in
	hypercube) : > "$work/want" ;;
	*) want "$@" ;;
	esac
}

# deviation reads "bytes busbw" and prints the largest deviation with its size.
deviation() {
	awk -v limit="${LIMIT:-0.5}" 'NR == FNR { want[$1] = $2; next }
		$1 in want { d = ($2 / want[$1] - 1) * 100; n++; if (d * d >= worst * worst) { worst = d; at = $1 } }
		END { if (!n) { print "not compared"; exit 3 }
			printf "%+.2f at %s (%d figures)\n", worst, at, n; exit worst * worst > limit * limit }' "$work/want" -
}

# run COMMAND… writes the program's table. It fails with a message if the program fails or prints a
# figure that is not a number.
run() {
	# shellcheck disable=SC2086 # flags
	if ! "${loopback[@]}" "$@" ${THEIRS:-} -n 20 -w 5 -c 0 > "$work/table" 2> "$work/errors"; then
		grep -h . "$work/table" "$work/errors" | tail -n 1
	elif ! grep -q '^ *[0-9]' "$work/table"; then
		echo "no table"
	else
		! grep -iwm 1 -e '-\?nan' -e '-\?inf' "$work/table"
		return
	fi
	return 1
}

# compare TITLE COMMAND… runs a program with small and large sizes, and prints a line about it.
compare() {
	local title=$1 said
	shift
	printf '%-32s' "$title"
	if ! said=$(run "$@" "${small[@]}") || ! said=$(run "$@" "${sizes[@]}"); then
		said="FAILS: $said"
		bad=1
	elif [ ! -s "$work/want" ]; then
		said="runs"
	elif ! said=$(columns < "$work/table" | deviation); then
		said+=" DEVIATES"
		bad=1
	fi
	echo "$said"
}

for program in "${programs[@]}"; do
	one=$folder/${program}_perf many=$folder/${program}_mpi
	if [ -x "$one" ]; then
		expect "$program" -g 8
		compare "$program -g 8" -- "$one" -g 8
		compare "$program -g 8 -y 1" -- "$one" -g 8 -y 1
		expect "$program" -g 8 -G 1
		compare "$program -g 8 -G 1" -- "$one" -g 8 -G 1
		expect "$program"
		compare "$program -t 8" -- "$one" -t 8
	fi
	if [ -x "$many" ]; then
		expect "$program" --nodes 2
		compare "$program mpirun -np 16" --nodes 2 -- mpirun --map-by :OVERSUBSCRIBE -np 16 "$many"
	fi
done
exit $bad
