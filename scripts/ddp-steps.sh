#!/usr/bin/env bash
# Times real training steps: PyTorch's DistributedDataParallel on this machine, with links of a known rate.
#
#   scripts/ddp-steps.sh run DIR RANKS MBIT THREADS CASE…   writes DIR/NAME.json for each case
#   scripts/ddp-steps.sh full DIR                           the configurations of docs/BUCKET.md: 70 minutes
#   scripts/ddp-steps.sh delayed DIR                        configurations over links with a delay: 30 minutes
#   scripts/ddp-steps.sh long DIR                           configurations with a long backward pass: 30 minutes
#
# Every rank is a process on a host of scripts/links.sh. MBIT is the links' rate in million bits per
# second. With RATE:MS, data arrive MS milliseconds after they are sent. THREADS is the number of gloo's
# threads; a thread carries one message at a time.
#
# The script first times all_reduce by size. If ZBENCH names a binary, `zbench recommend` then recommends
# a bucket_cap_mb from these times, and that value is measured too. A CASE is one word of shell: a name,
# then the settings that differ from these defaults:
#
#   model=even scale=1 backward=1 caps=0.25,0.5,1,2,4,8 view=1 accumulate=1 unused=0
#
#   model       even, uneven (tied, some tensors frozen), llama, gpt (tied), resnet or swapped
#   scale       factor on the sizes of the model's tensors
#   backward    seconds of the backward pass, which sleeps
#   caps        values of bucket_cap_mb, in MiB
#   view        gradient_as_bucket_view
#   accumulate  microbatches per step
#   unused      find_unused_parameters
#
# A setting is measured in two blocks. REPS (5) is the number of steps per block; two more steps at the
# beginning of a block are not counted.
#
# The script needs root and the tools of links.sh, and PyTorch 2.6 or later: python3-torch of Debian
# trixie, on this machine or in a chroot that ZBENCH_TORCH names (scripts/chroot.sh torch makes one). It
# exits with 3 where links cannot be made.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
export LINKS=${LINKS:-zbd}
work=$(mktemp -d)
trap '"$here/links.sh" down; rm -rf "$work"' EXIT

# python ARGUMENT… runs one process of ddp-steps.py. The words of prefix come before its command.
prefix=()
python() {
	local root=()
	[ -z "${ZBENCH_TORCH:-}" ] || root=(chroot "$ZBENCH_TORCH")
	"${prefix[@]}" "${root[@]}" env USE_LIBUV=0 MASTER_ADDR=10.77.0.1 MASTER_PORT=29511 GLOO_SOCKET_IFNAME=eth0 OMP_NUM_THREADS=1 UCX_LOG_LEVEL=fatal \
		CURVE="${curve:-}" DELAY="$delay" MACHINE="${MACHINE:-$(nproc) cores}" python3 -W ignore - "$@" < "$here/ddp-steps.py" 2>> "$work/errors"
}

# ranks MODE CASE… runs all ranks and prints the output of rank 0.
ranks() {
	local pids=()
	for ((i = ranks - 1; i >= 0; i--)); do
		prefix=("$here/links.sh" on $i)
		python $i "$ranks" "$link" "$@" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || { tail -n 20 "$work/errors" >&2; exit 1; }
	done
}

# recommended CASE prints the words of the case, with the value that zbench recommends if there is one.
recommended() {
	local words=$* cap=
	if [ -n "${ZBENCH:-}" ]; then
		python 0 "$ranks" "$link" log "$words" > "$work/curve.log"
		python 0 "$ranks" "$link" params "$words" > "$work/params.json"
		cap=$("$ZBENCH" recommend "$work/curve.log" --framework ddp --dp "$ranks" --grad-dtype float --params "$work/params.json" --forward-ms 1 \
			--backward-ms "$(grep -o 'backward=[0-9.]*' <<< "$words backward=1" | awk -F= 'NR == 1 { print $2 * 1000 }')" |
			sed -n 's/.*bucket_cap_mb=\([0-9.]*[0-9]\).*/\1/p' | head -n 1)
	fi
	echo "$words${cap:+ recommended=$cap}"
}

# run DIR RANKS MBIT THREADS CASE… measures the cases and writes DIR/NAME.json for each.
run() {
	local out=$1 cases=()
	ranks=$2 link=$((${3%:*} * 125000)) delay=0 threads=$4
	[[ $3 != *:* ]] || delay=${3#*:}
	shift 4
	mkdir -p "$out"
	"$here/links.sh" up "$ranks" "$((link / 125000))" "$delay"
	for words in "$@"; do
		cases+=("$words threads=$threads reps=${REPS:-5}")
	done
	curve=$(ranks curve "${cases[@]}")
	for i in "${!cases[@]}"; do
		cases[i]=$(recommended "${cases[i]}")
	done
	ranks steps "${cases[@]}" | awk -v out="$out" '/^== / { file = out "/" $2 ".json"; print file > "/dev/stderr"; next } { print > file; fflush(file) }'
	"$here/links.sh" down
}

# full chooses rates at which the gradients take about as long on the network as the backward pass takes.
full() {
	run "$1" 4 400 2 \
		"even model=even backward=1.5" "llama model=llama backward=1" "gpt model=gpt backward=1" "resnet model=resnet backward=1"
	run "$1" 4 400 1 "even-one-thread model=even backward=1.5" "llama-one-thread model=llama backward=1"
	run "$1" 4 200 2 \
		"even-200 scale=0.4 caps=$low" "llama-200 model=llama scale=0.5 caps=$low" "even-copied scale=0.4 caps=$low view=0" \
		"even-accumulated scale=0.4 backward=0.5 accumulate=3 caps=$low" "even-unused scale=0.4 caps=$low unused=1" \
		"even-swapped model=swapped scale=0.4 caps=$low" "even-exposed scale=0.4 backward=0.05 caps=$low"
	run "$1" 4 100 2 "gpt-100 model=gpt scale=0.25 caps=$low" "resnet-100 model=resnet scale=0.25 caps=$low"
	run "$1" 2 100 2 "even-2 scale=0.25 caps=$low" "llama-2 model=llama scale=0.25 caps=$low" "gpt-2-copied model=gpt scale=0.25 caps=$low view=0"
	run "$1" 2 400 1 "resnet-2 model=resnet" "even-2-accumulated accumulate=2 backward=0.8"
	run "$1" 8 200 2 "even-8 scale=0.3 caps=$low" "llama-8 model=llama scale=0.4 caps=$low" "resnet-8 model=resnet scale=0.5 caps=$low"
	run "$1" 8 100 1 "gpt-8 model=gpt scale=0.25 caps=$low"
}

# delayed chooses delays of up to half of a step.
delayed() {
	run "$1" 3 150:4 1 "uneven-delay-one-thread model=uneven scale=0.4 backward=0.7 caps=0.25,0.5,1,2,3,4"
	run "$1" 3 150:4 2 "uneven-delay model=uneven scale=0.4 backward=0.7 caps=0.25,0.5,1,2,3,4"
	run "$1" 2 100:10 1 "gpt-2-delay-one-thread model=gpt scale=0.25 backward=0.8 caps=0.25,0.5,1,1.75,2,4"
	run "$1" 2 100:10 2 "gpt-2-delay model=gpt scale=0.25 backward=0.8 caps=0.25,0.5,0.875,1.125,2,4"
	run "$1" 4 200:1 1 "gpt-delay-one-thread model=gpt scale=0.4 backward=0.8 caps=$low"
	run "$1" 4 200:1 2 "llama-delay model=llama scale=0.4 backward=0.8 caps=$low"
	run "$1" 3 300 1 "uneven-one-thread model=uneven scale=0.8 backward=0.7 caps=0.25,0.5,1,2,4,8"
}
low=0.125,0.25,0.5,1,2,4

# long chooses messages so short, compared with the backward pass, that a step with the default setting
# is less than 1 % longer than with the best one.
long() {
	run "$1" 2 400 1 "gpt-2-long model=gpt scale=0.05 backward=5 caps=$low"
	run "$1" 3 300 1 "uneven-long model=uneven scale=0.06 backward=5 caps=$low"
	run "$1" 4 400 2 "llama-long model=llama scale=0.03 backward=5 caps=$low"
}

case ${1:-} in
run) run "${@:2}" ;;
full | delayed | long) "$1" "$2" ;;
*) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
esac
