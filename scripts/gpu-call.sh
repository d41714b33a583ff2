#!/usr/bin/env bash
# Everything that a GPU is wanted for, in three calls of less than nine minutes each, for a
# machine that is lent bare, for half an hour, and returns one folder of few files.
#
#   OUT=FOLDER scripts/gpu-call.sh CALL [FLAG…]
#
# CALL is
#   check    nvidia-smi, doctor, every kernel and collective against its reference, two
#            processes on one GPU. Wrong data here comes before the other calls.
#   compute  gemm; BabelStream built from $BABELSTREAM_SRC; memory, products, Newton–Schulz
#   moves    nccl-tests built from $NCCL_TESTS_SRC; norms, momentum, bursts
#
# FLAGs go to zbench: --backend, --lib-path DIR, … BIN is the folder of zbench and gpu-compare
# (bin beside scripts). A call leaves at most seven files in OUT: each table, and results.tar.gz,
# packed anew as each row ends; check also leaves cache.tar.gz, the compiled kernels. The other
# calls take it: CACHE=FILE. A peer without sources or a compiler is NOT CHECKED. ARCH is what
# peers are compiled for (sm_90), LIMIT how many seconds the call may take (520; moves 460).
# Exits with 1 when a check failed or a bar was missed, 2 when used wrongly, 5 without a GPU.
set -uo pipefail

scripts=$(cd "$(dirname "$0")" && pwd)
bin=${BIN:-$scripts/../bin}
case ${1-} in
check | compute) limit=${LIMIT:-520} ;;
moves) limit=${LIMIT:-460} ;;
*)
	echo "usage: OUT=FOLDER ${0##*/} check|compute|moves [FLAG…]" >&2
	exit 2
	;;
esac
call=$1
shift
if [ -z "${OUT-}" ]; then
	echo "OUT is not set: name the folder that comes back from the machine" >&2
	exit 2
fi
for program in zbench gpu-compare; do
	if [ ! -x "$bin/$program" ]; then
		echo "$bin/$program is missing: \`make build bin/gpu-compare\`, and carry bin" >&2
		exit 2
	fi
done
out=$OUT
mkdir -p "$out" || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
export ZBENCH=$bin/zbench ZBENCH_FLAGS="$*" ZBENCH_CACHE_DIR=${ZBENCH_CACHE_DIR:-$work/cache}
mkdir -p "$ZBENCH_CACHE_DIR"
[ -z "${CACHE-}" ] || tar -xzf "$CACHE" -C "$ZBENCH_CACHE_DIR" || echo "CACHE: $CACHE is left out: kernels are compiled anew" >&2

# left: the seconds of this call that are left.
left() { echo $((limit - SECONDS > 0 ? limit - SECONDS : 0)); }

# pack: all results so far, in one file; an unfinished tar is never left behind.
pack() { tar -czf "$work/packed" -C "$work" results && mv "$work/packed" "$out/results.tar.gz"; }
mkdir "$work/results"

# The libraries of Python's packages, for the peers: CUDA 13's and CUDA 12's layout.
packages=$("${PYTHON:-python3}" -c 'import nvidia; print(list(nvidia.__path__)[0])' 2>/dev/null)
if [ -n "$packages" ]; then
	libs=$(ls -d "$packages"/cu[0-9]*/lib "$packages"/{cuda_runtime,cuda_nvrtc,cublas,nccl}/lib 2>/dev/null | paste -sd:)
	export LD_LIBRARY_PATH=$libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi

# built NAME COMMAND…: builds a peer in 90 s at most; what the compiler said is a result.
built() {
	local name=$1
	shift
	timeout 90 "$@" >"$work/results/build-$name.txt" 2>&1 && return
	echo "$name is NOT CHECKED: it was not built: $(tail -1 "$work/results/build-$name.txt")" >&2
	return 1
}

babelstream() {
	local src=${BABELSTREAM_SRC-} nvcc
	nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
	[ -d "$src/src/cuda" ] || { echo "BabelStream is NOT CHECKED: BABELSTREAM_SRC has no src/cuda" >&2; return; }
	built BabelStream "$nvcc" -O3 -std=c++17 --extended-lambda -arch="${ARCH:-sm_90}" -DCUDA -DGRID_STRIDE -I"$src/src" -I"$src/src/cuda" \
		"$src/src/main.cpp" "$src/src/cuda/CUDAStream.cu" -L"$(dirname "$nvcc")/../lib64/stubs" -lnvidia-ml -o "$work/cuda-stream" &&
		export BABELSTREAM=$work/cuda-stream
}

nccl_tests() {
	local src=${NCCL_TESTS_SRC-} arch=${ARCH:-sm_90} home=${NCCL_HOME-}
	[ -f "$src/src/Makefile" ] || { echo "nccl-tests is NOT CHECKED: NCCL_TESTS_SRC has no src/Makefile" >&2; return; }
	if [ -z "$home" ] && [ -d "$packages/nccl/include" ]; then
		home=$work/nccl
		mkdir -p "$home/lib" && ln -s "$packages/nccl/include" "$home/include" && ln -s "$packages/nccl/lib/libnccl.so.2" "$home/lib/libnccl.so"
	fi
	built nccl-tests make -j"$(nproc)" -C "$src/src" BUILDDIR="$work/nccl-tests" ${home:+NCCL_HOME="$home"} \
		NVCC_GENCODE="-gencode=arch=compute_${arch#sm_},code=$arch" "$work/nccl-tests/all_reduce_perf" "$work/nccl-tests/all_gather_perf" &&
		export NCCL_TESTS=$work/nccl-tests
}

# compare ROW…: the rows by turns, each with its share of the time that is left.
compare() {
	local rows=$# code row
	for row; do
		LIMIT=$(($(left) / rows)) OUT=$work/results timeout -k 20 "$(left)" "$scripts/gpu-compare.sh" "$bin/gpu-compare" "$row" >>"$work/results/$call.txt" 2>&1
		code=$?
		rows=$((rows - 1))
		cp "$work/results/$row/compare.md" "$out/$row.md" 2>/dev/null
		pack
		echo "== $row: exit code $code, $(left) s are left"
		cat "$out/$row.md" 2>/dev/null || tail -3 "$work/results/$call.txt"
		[ $code -eq 5 ] && exit 5
		[ $code -eq 0 ] || failed=1
	done
}

failed=0
nvidia-smi >"$work/results/nvidia-smi.txt" 2>&1 && cp "$work/results/nvidia-smi.txt" "$out"
# The driver's own clock, beside those that zbench counts.
nvidia-smi --query-gpu=timestamp,clocks.sm,power.draw,temperature.gpu --format=csv -lms 500 >"$work/results/driver-clock.csv" 2>/dev/null &
trap 'kill '$!' 2>/dev/null; rm -rf "$work"' EXIT
case $call in
check)
	# Usual sizes and configurations: this call is about results.
	PARTS='collectives kernels processes' TUNE='' SIZE=${SIZE:-512M} LIMIT=$(left) OUT=$out "$scripts/gpu-check.sh" "$bin/zbench" "$@"
	failed=$?
	tar -czf "$work/packed" -C "$ZBENCH_CACHE_DIR" . && mv "$work/packed" "$out/cache.tar.gz"
	;;
compute)
	# A minute of matrix products, with their clock and what PyTorch's call reaches.
	timeout 60 "$bin/zbench" gemm "$@" --mnk 4096x4096x4096,8192x8192x8192 --max-time 1 --out "$work/results/gemm" >"$work/results/gemm.txt" 2>&1
	echo "== gemm: exit code $?, $(left) s are left"
	babelstream
	compare memory products newton-schulz
	;;
moves)
	nccl_tests
	compare norm prepare burst
	;;
esac
exit "$failed"
