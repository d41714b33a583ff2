#!/usr/bin/env bash
# Check and measure zbench on one GPU in fifteen minutes, as two calls. This script is for a machine
# that gets one folder per call and returns one folder with few files.
#
#   OUT=FOLDER gpu-call.sh first|second [FLAG…]
#
# `make gpu-folder` makes the folder to copy to the machine, with this script in it.
#
#   first   records the machine, runs doctor and four probes of a few seconds, then checks every kernel
#           and collective against its reference, and two processes on one GPU. Meanwhile the other
#           cores build the peers. If it finds wrong data, use the second call to find the cause.
#   second  measures zbench and its peers by turns, the most important rows first
#
# FLAGs go to zbench: --backend, --lib-path DIR, … A call leaves at most seven files in OUT: tables,
# and results.tar.gz, which is packed again after each row. The first call also leaves cache.tar.gz,
# the compiled kernels: put it beside this script if the second call gets another machine. A peer
# without sources or a compiler is NOT CHECKED.
#
# Variables, with their defaults:
#   LIMIT         seconds that the call may take (250 for first, 400 for second)
#   PARTS         parts that first checks (collectives kernels processes; the probes belong to kernels)
#   ROWS          rows that second runs, each as row:seconds
#   ALTERNATIONS  turns per row (2)
#   ARCH          GPU architecture that the peers are compiled for (sm_90)
#   WORK          folder that stays on the machine between the calls
#
# Exits with 1 when a check failed or a bar was missed, 2 when used wrongly, 5 without a GPU.
set -uo pipefail

here=$(cd "$(dirname "$0")" && pwd)
case ${1-} in
first) limit=${LIMIT:-250} ;;
second) limit=${LIMIT:-400} ;;
*)
	echo "usage: OUT=FOLDER ${0##*/} first|second [FLAG…]" >&2
	exit 2
	;;
esac
call=$1
shift
if [ -z "${OUT-}" ]; then
	echo "OUT is not set: name the folder that comes back from the machine" >&2
	exit 2
fi
for program in zbench gpu-compare gpu-check.sh gpu-compare.sh; do
	if [ ! -x "$here/$program" ]; then
		echo "$here/$program is missing: \`make gpu-folder\` makes the folder that travels" >&2
		exit 2
	fi
done
out=$OUT
work=${WORK:-${TMPDIR:-/tmp}/zbench-gpu}
results=$work/$call
rm -rf "$results"
mkdir -p "$out" "$work/cache" "$results" || exit 2
export ZBENCH=$here/zbench ZBENCH_FLAGS="$*" ZBENCH_CACHE_DIR=$work/cache ALTERNATIONS=${ALTERNATIONS:-2}

[ ! -f "$here/cache.tar.gz" ] || tar -xzf "$here/cache.tar.gz" -C "$ZBENCH_CACHE_DIR" --skip-old-files

# left prints the seconds that are left of this call.
left() { echo $((limit - SECONDS > 0 ? limit - SECONDS : 0)); }

# pack puts all results so far, except pages and pictures, into one file. It never leaves an
# unfinished archive behind.
pack() {
	tar -czf "$work/packed" -C "$work" --exclude='*.html' --exclude='*.png' --exclude='*.svg' "$call" 2>/dev/null
	[ $? -le 1 ] && mv "$work/packed" "$out/results.tar.gz" # 1: a file grew meanwhile
}

# The peers load the libraries of Python's NVIDIA packages. CUDA 13 and CUDA 12 have different layouts.
packages=$("${PYTHON:-python3}" -c 'import nvidia; print(list(nvidia.__path__)[0])' 2>/dev/null)
if [ -n "$packages" ]; then
	libs=$(ls -d "$packages"/cu[0-9]*/lib "$packages"/{cuda_runtime,cuda_nvrtc,cublas,nccl}/lib 2>/dev/null | paste -sd:)
	export LD_LIBRARY_PATH=$libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
nvcc=$(readlink -f "$nvcc" || echo "$nvcc")
cuda=$(dirname "$(dirname "$nvcc")")

# facts prints versions and properties of the machine.
facts() {
	date -u
	nvidia-smi
	uname -rm
	ldd --version | head -1
	nproc
	ip -br address
	"${PYTHON:-python3}" -c 'import sys, torch; print(sys.version, torch.__version__, torch.cuda.nccl.version())'
	"$nvcc" --version | tail -1
	find "$packages" /usr/local/cuda/lib64 -name 'lib*.so*' | grep -E 'lib(nccl|cudart|nvrtc|cublas|cublasLt)\.so'
	ls -d /dev/nvidia*
}

# peers builds the peers whose sources are in the folder.
peers() {
	local stream=$here/peers/BabelStream/src tests=$here/peers/nccl-tests/src arch=${ARCH:-sm_90} home=${NCCL_HOME-}
	if [ -d "$stream/cuda" ]; then
		timeout 100 "$nvcc" -O3 -std=c++17 --extended-lambda -arch="$arch" -DCUDA -DGRID_STRIDE -I"$stream" -I"$stream/cuda" \
			"$stream/main.cpp" "$stream/cuda/CUDAStream.cu" -L"$cuda/lib64/stubs" -lnvidia-ml -o "$work/cuda-stream"
	fi
	[ -f "$tests/Makefile" ] || return
	if [ -z "$home" ] && [ -d "$packages/nccl/include" ]; then
		home=$work/nccl
		mkdir -p "$home/lib" && ln -sfn "$packages/nccl/include" "$home/include" && ln -sfn "$packages/nccl/lib/libnccl.so.2" "$home/lib/libnccl.so"
	fi
	timeout 200 make -j12 -C "$tests" BUILDDIR="$work/nccl-tests" CUDA_HOME="$cuda" ${home:+NCCL_HOME="$home"} \
		NVCC_GENCODE="-gencode=arch=compute_${arch#sm_},code=$arch" "$work/nccl-tests/all_reduce_perf" "$work/nccl-tests/all_gather_perf"
}

# probe NAME ARGUMENT… runs one short command of zbench. One product, one norm, one stream and one
# collective show most faults.
probe() {
	local name=$1 code
	shift
	timeout 60 "$ZBENCH" "$@" -q --out "$results/probe-$name" >"$results/probe-$name.txt" 2>&1
	code=$?
	{
		echo "== $name: exit code $code after $SECONDS s"
		tail -30 "$results/probe-$name.txt"
	} >>"$out/probes.txt"
	echo "$name: exit code $code after $SECONDS s"
	pack
}

probes() {
	probe hbm hbm --size "${SIZE:-256M}" --kernels copy,read --dtype float64 --max-time 0.1 "$@"
	probe rmsnorm kernels rmsnorm --rows "${ROWS_OF_NORM:-4096}" --hidden "${HIDDEN:-4096}" --max-time 0.1 "$@"
	probe muon kernels muon --shape "${SHAPE:-2048x2048x4}" --max-time 0.1 "$@"
	probe all_reduce collectives all_reduce -b 1K -e 64M -f 16 -g 1 --max-time 0.05 "$@"
}

first() {
	local code builder
	facts >"$out/machine.txt" 2>&1 &
	peers >"$results/peers.txt" 2>&1 &
	builder=$!
	timeout 60 "$ZBENCH" doctor "$@" >"$out/doctor.txt" 2>&1
	code=$?
	echo "doctor: exit code $code after $SECONDS s"
	if [ $code -eq 5 ]; then
		cat "$out/doctor.txt"
		return 5
	fi
	PARTS=${PARTS:-collectives kernels processes}
	[[ $PARTS != *kernels* ]] || probes "$@"
	# This call checks results, so it runs usual sizes and configurations only.
	PARTS=$PARTS TUNE='' SIZE=${SIZE:-512M} LIMIT=$(($(left) - 15)) OUT=$results/check "$here/gpu-check.sh" "$ZBENCH" "$@" >"$results/check.txt" 2>&1
	code=$?
	cp "$results/check/table.md" "$out/"
	while kill -0 "$builder" 2>/dev/null && [ "$(left)" -gt 5 ]; do sleep 0.5; done
	echo "peers:" "$work"/cuda-stream "$work"/nccl-tests/*_perf "$(tail -1 "$results/peers.txt")"
	tar -czf "$work/packed" -C "$ZBENCH_CACHE_DIR" . && mv "$work/packed" "$out/cache.tar.gz"
	pack
	cat "$out/table.md"
	return $code
}

second() {
	local row seconds code bad=0
	[ ! -x "$work/cuda-stream" ] || export BABELSTREAM=$work/cuda-stream
	[ ! -x "$work/nccl-tests/all_gather_perf" ] || export NCCL_TESTS=$work/nccl-tests
	[ ! -d "$here/peers/Liger-Kernel/src" ] || export LIGER=$here/peers/Liger-Kernel/src
	for row in ${ROWS:-memory:60 newton-schulz:70 products:70 gemm:45 burst:60 norm:100 prepare:40}; do
		seconds=${row#*:}
		row=${row%:*}
		[ "$seconds" -le "$(left)" ] || seconds=$(left)
		if [ "$seconds" -lt 10 ]; then
			echo "== $row: not run: $(left) s are left"
			bad=1
			continue
		fi
		LIMIT=$seconds OUT=$results timeout -k 10 $((seconds + 10)) "$here/gpu-compare.sh" "$here/gpu-compare" "$row" >>"$results/second.txt" 2>&1
		code=$?
		echo "== $row: exit code $code, $(left) s are left"
		{
			cat "$results/$row/compare.md" 2>/dev/null || tail -3 "$results/second.txt"
			echo
		} | tee -a "$out/compare.md" | sed '/^|---/d'
		pack
		[ $code -ne 5 ] || return 5
		[ $code -eq 0 ] || bad=1
	done
	return $bad
}

# The driver's own clock, to compare with the clock that zbench measures.
nvidia-smi --query-gpu=timestamp,clocks.sm,clocks.mem,power.draw,temperature.gpu --format=csv -lms 250 >"$results/driver-clock.csv" 2>/dev/null &
trap 'kill $(jobs -p) 2>/dev/null' EXIT
"$call" "$@"
