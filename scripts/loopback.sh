#!/usr/bin/env bash
# Builds the loopback as shared libraries with the vendors' names, so that other
# programs can run on it. scripts/loopback.sh DIR makes DIR/rocm/lib and
# DIR/cuda/lib, and DIR/include with the header for host versions of a program's
# kernels. `zbench loopback --libraries DIR` runs a program on these libraries. To run
# a program without that command, set ZBENCH_LOOPBACK to a machine file and let the
# program find the libraries (LD_LIBRARY_PATH; --rocm-path DIR/rocm for zbench).
set -euo pipefail
shopt -s inherit_errexit

if [ $# -ne 1 ]; then
	echo "usage: ${0##*/} DIR" >&2
	exit 2
fi
mkdir -p "$1/include"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/../internal/native"

# NOISY=1 makes the collectives library print a line when it is loaded, as some libraries do.
noisy=(${NOISY:+-DNOISY})
cflags=(-std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -fPIC -fvisibility=hidden)

# A lock allows one build of the folder at a time. A build also removes files of a killed build.
exec 8<"$out"
flock 8
objects=$out/objects
rm -rf "$objects"
mkdir "$objects"
export TMPDIR=$objects # for the compilers' temporary files
trap 'rm -rf "$objects"' EXIT

# Compiled objects are kept by a hash of their inputs. kept "SOURCES" COMMAND… prints the object's
# path.
cxx=("${CXX:-c++}" -std=c++17 -O2 -Wall -fPIC -fvisibility=hidden -fno-exceptions -fno-rtti)
cache=${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}
keep=$cache/zbench/loopback
if [ -z "$cache" ] || ! mkdir -p "$keep" 2>/dev/null || ! [ -w "$keep" ]; then
	keep=$objects
fi
kept() {
	local made
	made=$({ "$2" --version; echo "${@:2}"; find $1 -type f | LC_ALL=C sort | xargs cat; } | sha256sum)
	made=$keep/${made%% *}.o
	(
		flock 9
		[ -s "$made" ] && exit
		find "$keep" -name '*.o' -mtime +7 -delete
		"${@:2}" -o "$made.new"
		mv "$made.new" "$made"
	) 9>"$keep/lock"
	echo "$made"
}
kernels=$(kept "unity.cc kernels" "${cxx[@]}" -c unity.cc)

cp c/shared/zbench_kernels.h "$out/include"

# runtime NAMES LIBRARY [FLAG…] builds the library that has all the state.
runtime() {
	local state
	state=$(kept "c kernels" "${CC:-cc}" "${cflags[@]}" -DZB_NAMES="$1" -c c/shared/runtime.c)
	"${CC:-cc}" "${cflags[@]}" -shared "-Wl,-soname,${2##*/}" "${@:3}" -o "$2" "$state" "$kernels" -lm -ldl -lpthread -Wl,-z,defs
}

# forward NAMES KIND LIBRARY RUNTIME [FLAG…] builds a library whose functions jump to the runtime library.
forward() {
	"${CC:-cc}" "${cflags[@]}" -shared -DZB_NAMES="$1" "-DFORWARD_$2=1" "-Wl,-soname,${3##*/}" "${@:5}" -o "$3" c/shared/forward.c "$4" -Wl,-rpath,'$ORIGIN' -Wl,-z,defs
}

lib=$out/rocm/lib
mkdir -p "$lib"
runtime 0 "$lib/libamdhip64.so.6" -Wl,--version-script=c/shared/hip.map
forward 0 COLLECTIVES "$lib/librccl.so.1" "$lib/libamdhip64.so.6" "${noisy[@]}"
forward 0 COMPILER "$lib/libhiprtc.so.6" "$lib/libamdhip64.so.6"
forward 0 HEURISTICS "$lib/libhipblaslt.so.1" "$lib/libamdhip64.so.6"
"${CC:-cc}" "${cflags[@]}" -shared -Wl,-soname,libzbench-clock.so -o "$lib/libzbench-clock.so" c/shared/clock.c -ldl -Wl,-z,defs
for name in libamdhip64.so libamdhip64.so.5 libamdhip64.so.7; do ln -sf libamdhip64.so.6 "$lib/$name"; done
ln -sf librccl.so.1 "$lib/librccl.so"
ln -sf libhiprtc.so.6 "$lib/libhiprtc.so"
"${CC:-cc}" "${cflags[@]}" -shared -Wl,-soname,libhsa-runtime64.so.1 -o "$lib/libhsa-runtime64.so.1" c/shared/hsa.c -Wl,--version-script=c/shared/hsa.map -Wl,-z,defs
ln -sf libhsa-runtime64.so.1 "$lib/libhsa-runtime64.so"

# ONLY=rocm builds only the libraries with ROCm's names.
[ "${ONLY:-}" != rocm ] || exit 0
lib=$out/cuda/lib
mkdir -p "$lib"
runtime 1 "$lib/libcudart.so.12"
forward 1 COLLECTIVES "$lib/libnccl.so.2" "$lib/libcudart.so.12"
forward 1 COMPILER "$lib/libnvrtc.so.12" "$lib/libcudart.so.12"
forward 1 DRIVER "$lib/libcuda.so.1" "$lib/libcudart.so.12"
forward 1 HEURISTICS "$lib/libcublasLt.so.12" "$lib/libcudart.so.12"
