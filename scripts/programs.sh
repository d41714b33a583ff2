# Functions of paced.sh and virtual.sh, which compare rccl-tests' programs with `zbench collectives`
# in the same world, both without noise. The caller sets zbench and sizes before it sources this file.

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# loopback_on CLOCK sets loopback, the command that runs a program on that clock.
loopback_on() {
	loopback=("$zbench" loopback -q --no-data --clock "$1" --fault noise:sigma=0)
	[ -z "${LIBRARIES:-}" ] || loopback+=(--libraries "$LIBRARIES")
}

# want PROGRAM FLAG… writes "bytes busbw" of zbench itself, with busbw in GB/s.
want() {
	local name=$1
	shift
	rm -rf "$work/out"
	# shellcheck disable=SC2086 # flags
	"$zbench" collectives "$name" --backend loopback "${sizes[@]}" "$@" ${OURS:-} -c 0 -n 20 \
		--fault noise:sigma=0 --max-time 0.01 --out "$work/out" --format csv -q |
		awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
			{ print $at["bytes"] ($at["in_place"] == "true" ? "i" : ""), $at["busbw_Bps"] / 1e9 }' > "$work/want"
}

# columns reads a program's table and prints "bytes busbw" of both columns; sizes of the in-place
# column get the suffix i. A row may lack its operator, so columns are counted from the end.
columns() { awk '/^ +[0-9]/ { print $1, $(NF - 5); print $1 "i", $(NF - 1) }'; }
