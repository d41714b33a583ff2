#!/usr/bin/env bash
# Check on a machine with a GPU whether zbench runs on the real libraries and whether its
# results are right. Needs bash, gpu-processes.sh in the same folder and a zbench binary,
# but neither Go nor a network.
#
#   scripts/gpu-check.sh BIN [FLAG…]
#
# FLAGs go to every run: --backend, --rccl-lib FILE, --lib-path DIR, … (zbench
# collectives --help). Variables:
#
#   GPUS          number of GPUs; counted by default
#   TYPES         element types to check
#   ROWS, HIDDEN  size of the norms' matrices
#   SIZE          size of hbm's arrays
#   TUNE          flag for hbm: --tune (default) for all configurations, empty for the usual ones
#   SHAPES        matrices for Muon's step
#   MNK           product that gemm checks
#   PARTS         parts to run: kernels collectives types processes (default all). Where a
#                 command may take only a few minutes, give each part a call and an OUT of its own
#   LIMIT         seconds that the call may take (500, and 20 more to end). A part that is not
#                 reached by then counts as failed
#   OUT           folder of the results (gpu-check-DATE)
#
# Prints a table, and writes it to table.md row by row. results.tar.gz has all results except
# the pictures and is packed again after each row. Exits with 1 when a check failed, 2 when used
# wrongly, 5 when nothing can run.
set -uo pipefail

if [ $# -lt 1 ]; then
	echo "usage: ${0##*/} BIN [FLAG…]" >&2
	exit 2
fi
more=$(dirname "$0")/gpu-processes.sh
if [ ! -r "$more" ]; then
	echo "$more is missing: copy it, too" >&2
	exit 2
fi
bin=$1
shift
flags=("$@")
to=${OUT:-gpu-check-$(date +%Y%m%d-%H%M%S)}
mkdir -p "$to" || exit 2
out=$(mktemp -d) || exit 2
trap 'rm -rf "$out" "$out.tar.gz"' EXIT
limit=${LIMIT:-500}
parts=" ${PARTS:-kernels collectives types processes} "
for part in $parts; do
	case $part in kernels | collectives | types | processes) ;; *)
		echo "PARTS: unknown part $part: valid are kernels, collectives, types, processes" >&2
		exit 2
		;;
	esac
done
wants() { [[ $parts == *" $1 "* ]]; }

# A flag names the backend. Without one, the device node decides.
backend=
for ((i = 0; i < ${#flags[@]}; i++)); do
	case ${flags[i]} in
	--backend) backend=${flags[i + 1]-} ;;
	--backend=*) backend=${flags[i]#*=} ;;
	esac
done
if [ -z "$backend" ]; then
	if [ -e /dev/kfd ]; then backend=rocm; elif [ -e /dev/nvidia0 ]; then backend=cuda; fi
	if [ -z "$backend" ]; then
		echo "no GPU here: neither /dev/kfd nor /dev/nvidia0; say --backend rocm or cuda to try all the same" >&2
		exit 5
	fi
	flags+=(--backend "$backend")
fi

# count_gpus prints the number of GPUs that the machine has.
count_gpus() {
	if [ "$backend" = cuda ]; then
		find /dev -maxdepth 1 -name 'nvidia[0-9]*' | wc -l
	else
		cat /sys/class/kfd/kfd/topology/nodes/*/gpu_id 2>/dev/null | grep -cv '^0$'
	fi
}
gpus=${GPUS:-$(count_gpus)}
[ "${gpus:-0}" -ge 1 ] || gpus=1

failed=0
printf '%s\n' "| check | result | seconds | what |" "|---|---|---|---|" >"$to/table.md"
# pack packs all results so far, in case the machine is taken away.
pack() {
	tar -czf "$out.tar.gz" -C "$out" --exclude='*.html' --exclude='*.png' --exclude='*.svg' . && mv "$out.tar.gz" "$to/results.tar.gz"
}
row() { # NAME RESULT SECONDS WHAT
	echo "| $1 | $2 | $3 | $4 |" | sed "s|$out/||g" >>"$to/table.md"
	pack
	echo "$2: $1 ($4, $3 s)" >&2
	[ "$2" = failed ] && failed=$((failed + 1))
	return 0
}

# json KEY FILE prints the first value of a key, without quotes.
json() { sed -n 's/^ *"'"$1"'": "\{0,1\}\([^",]*\)"\{0,1\},\{0,1\}$/\1/p' "$2" | head -1; }

# within COMMAND… runs a command in the time that is left. SIGTERM makes zbench save and end.
within() {
	local left=$((limit - SECONDS))
	if [ $left -le 0 ]; then
		echo "zbench: not run: the $limit s are over (LIMIT)" >&2
		return 124
	fi
	timeout -k 20 $left "$@"
}

# measured FOLDER succeeds if a real device ran the sweep, not a simulated one.
measured() {
	[ "$(json simulated "$1/results.json")" = false ] || [ -n "${ALLOW_SIMULATED-}" ]
}

# judge FOLDER prints what is wrong with the results of a sweep that exited without an error. It
# prints nothing if they are right.
judge() {
	local file=$1/results.json ok verified
	ok=$(grep -c '"status": "ok"' "$file")
	verified=$(grep -oE '"(status|state)": "[a-z_]*"' "$file" | grep -A1 '"status": "ok"' | grep -c '"state": "ok"') # those that were verified
	if ! measured "$1"; then
		echo "the results are simulated"
	elif [ "$ok" -eq 0 ]; then
		echo "nothing was measured"
	elif [ "$verified" -ne "$ok" ]; then
		echo "$((ok - verified)) of $ok cases not verified: $(sed -n '/"not_verified"/,/}/s/^ *"reason": "\(.*\)".*/\1/p' "$file" | head -1)"
	fi
}

# run NAME ARGUMENT… runs `zbench collectives` once and sets problem. problem is empty if the run
# ended well and its results are verified.
run() {
	local dir="$out/${1// /-}" code
	shift
	problem=
	within "$bin" collectives "$@" "${flags[@]}" --out "$dir" -q >"$dir.txt" 2>"$dir.log"
	code=$?
	if [ $code -ne 0 ] && [ $code -ne 3 ] && [ $code -ne 6 ]; then # a slow GPU still has right results
		problem="exit code $code: $(grep '^zbench: ' "$dir.log" | tail -1 | tr '|' '/' | cut -c1-300)"
	else
		problem=$(judge "$dir")
		cases=$((cases + $(grep -c '"status": "ok"' "$dir/results.json")))
		ran=1
	fi
	[ -z "$problem" ]
}

# sweep NAME ARGUMENT… makes one run and writes a row of the table about it.
sweep() {
	local start=$SECONDS
	cases=0
	if run "$@"; then
		row "$1" ok $((SECONDS - start)) "$cases cases, each verified"
	else
		row "$1" failed $((SECONDS - start)) "$problem"
		return 1
	fi
}

# operators TYPE runs every operator on one type and writes one row.
operators() {
	local start=$SECONDS op
	cases=0
	for op in sum prod max min avg; do
		# shellcheck disable=SC2086 # a list of words
		if ! run "$1 $op" all_reduce reduce_scatter -d "$1" -o "$op" -b 4K -e 1M -f 16 -g "$gpus" $quick; then
			row "$1" failed $((SECONDS - start)) "$op: $problem"
			return 1
		fi
	done
	row "$1" ok $((SECONDS - start)) "$cases cases of 5 operators, each verified"
}

# other NAME ARGUMENT… runs another command of zbench. Such a command checks its own results and
# reports a fault by its exit code.
other() {
	local name=$1 start=$SECONDS code
	shift
	within "$bin" "$@" "${flags[@]}" >"$out/$name.txt" 2>"$out/$name.log"
	code=$?
	case $code in 3 | 6) [ "$name" = doctor ] || code=0 ;; esac # a slow GPU still has right results
	[ $code -eq 0 ] && [ "$name" != doctor ] && ran=1
	if [ $code -ne 0 ]; then
		row "$name" failed $((SECONDS - start)) "exit code $code: $(grep '^zbench: ' "$out/$name.log" | tail -1 | tr '|' '/' | cut -c1-300)"
	elif [[ " $* " == *" $out/$name-results "* ]] && ! measured "$out/$name-results"; then
		row "$name" failed $((SECONDS - start)) "the results are simulated"
	else
		row "$name" ok $((SECONDS - start)) "zbench $*"
	fi
	return $code
}

# kernels checks memory streams, the norms in every type, and Muon, each against its reference. It
# times them only briefly, because it checks results. The lengths of the norms' rows cover every way of
# sharing a row among threads, with and without whole vectors. Muon's shapes cover both tile sizes,
# with and without edges.
kernels() {
	local norm shape mnk shapes=()
	for shape in ${SHAPES:-256x512 512x384x3 2048x2048x4 2000x2184x4}; do
		shapes+=(--shape "$shape")
	done
	# shellcheck disable=SC2086 # a flag or none
	other hbm hbm ${SIZE:+--size "$SIZE"} ${TUNE---tune} --max-time 0.1 --out "$out/hbm-results" -q
	if [ $? -eq 5 ]; then # no device, or a library is missing: the other kernels would fail in the same way
		nothing=5
		return
	fi
	for norm in rmsnorm layernorm; do
		other $norm kernels $norm ${ROWS:+--rows "$ROWS"} --hidden "${HIDDEN:-1024,4096,16384,1001,4095,16383}" --dtype bfloat16,float16,float32 --max-time 0.1 --out "$out/$norm-results" -q
	done
	other muon kernels muon "${shapes[@]}" --max-time 0.1 --out "$out/muon-results" -q
	other accumulate kernels accumulate ${ROWS:+--rows "$ROWS"} --hidden "${HIDDEN:-4096,1001}" --dtype bfloat16,float16 --max-time 0.1 --out "$out/accumulate-results" -q
	mnk=${MNK:-512x384x640}
	other gemm gemm --mnk "$mnk/TN,$mnk/NN,$mnk/NT" --choices 1 --max-time 0.1 --out "$out/gemm-results" -q
	# NVIDIA's library supports fp8 only in this layout.
	other gemm-types gemm --mnk "$mnk/TN" --dtype float16,float32,float8 --choices 1 --max-time 0.1 --out "$out/gemm-types-results" -q
}

all=$("$bin" list collectives 2>/dev/null | sed -n '2,$s/ .*//p')
quick="--max-time 0.05 -n 5 -w 2"

collectives() {
	local version k name
	# shellcheck disable=SC2086 # lists of words
	if ! sweep "one rank" $all -b 1K -e 16M -f 16 -g 1 $quick && [[ $problem == "exit code 5"* ]]; then
		nothing=5
		return
	fi
	if [ "$gpus" -gt 1 ]; then
		# shellcheck disable=SC2086
		sweep "$gpus GPUs" $all -b 1K -e 64M -f 4 -g "$gpus" $quick
	fi
	# Several ranks on each GPU need NCCL 2.30 or later.
	version=$(sed -n '/"name": "libnccl/,/}/s/^ *"version": "\([0-9.]*\)".*/\1/p' "$out/one-rank/results.json" 2>/dev/null | head -1)
	for k in 2 4; do
		name="$k ranks a GPU"
		if [ "$backend" != cuda ]; then
			row "$name" skipped 0 "NCCL alone has it"
		elif [ -z "${ALLOW_SIMULATED-}" ] && [ "$(printf '%s\n2.30\n' "${version:-0}" | sort -V | head -1)" != 2.30 ]; then
			row "$name" "NOT CHECKED" 0 "NCCL ${version:-unknown}; it begins with 2.30"
		else
			# shellcheck disable=SC2086
			NCCL_MULTI_RANK_GPU_ENABLE=1 sweep "$name" $all -b 1K -e 16M -f 16 -g 1 --ranks-per-gpu "$k" $quick
		fi
	done
	# shellcheck disable=SC2086
	sweep graphs all_reduce reduce_scatter all_gather -G 2 -b 1K -e 1M -f 32 -g "$gpus" $quick
}

# types checks every element type with every operator.
types() {
	local type
	for type in ${TYPES:-int8 uint8 int32 uint32 int64 uint64 half float double bfloat16}; do
		if ! operators "$type" && [[ $problem == "exit code 5"* ]]; then
			nothing=5
			return
		fi
	done
}

# shellcheck source=scripts/gpu-processes.sh
source "$more"

nothing= ran=
other doctor doctor
wants collectives && collectives
[ -z "$nothing" ] && wants types && types
wants kernels && kernels
[ -z "$nothing" ] && wants processes && processes

# heading prints the hardware and the libraries, from the first record that names the GPU.
heading() {
	local file gpu driver
	for file in "$out"/one-rank/results.json "$out"/*/results.json; do
		[ -f "$file" ] || continue
		gpu=$(json gpu "$file")
		[ -n "$gpu" ] || continue
		sed -n '/"libraries": \[/,/\]/s/^ *"\(name\|version\|path\)": "\(.*\)".*/\2/p' "$file" | paste -sd' '
		driver=$(json driver "$file")
		echo "$gpu, driver ${driver:-unknown}, $gpus GPUs, $("$bin" version), $(date +%Y-%m-%d)"
		echo
		return
	done
}
heading | cat - "$to/table.md" >"$out/table.md" && mv "$out/table.md" "$to/table.md"
echo
cat "$to/table.md"
pack || exit 2
[ "$failed" -eq 0 ] && exit 0
[ -z "$ran" ] && [ -n "$nothing" ] && exit 5
exit 1
