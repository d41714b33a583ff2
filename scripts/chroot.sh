#!/usr/bin/env bash
# Make a chroot of Debian for tests without a GPU, with ROCm's libraries or with PyTorch.
#
#   scripts/chroot.sh NAME [DIR]     as root; prints the folder
#
#   trixie  HIP 5.7 with hiprtc inside it, and RCCL (NCCL API 2.13.4), with headers;
#           the headers of rocBLAS 5.5 without its library
#   sid     the newest HIP whose hiprtc is a library of its own (6 or later);
#           the headers of hipBLASLt without its library
#   rocm7   sid with HIP, hiprtc and RCCL 7 of Debian's suite experimental, with headers
#
#   torch      trixie with PyTorch 2.6 for CPUs, without ROCm
#   torch-sid  sid with sid's newer PyTorch, without ROCm
#
#   plain-bookworm, plain-trixie  Debian 12 and 13 as installed; plain-trixie also has rpm
#
# trixie, sid and rocm7 have a compiler, trixie and sid also Open MPI; sid's UCX is built with ROCm.
#
# DIR is $ZBENCH_CHROOTS/NAME by default (~/.cache/zbench/chroots). A finished
# chroot is kept and used again. A run that was cut off continues where it stopped.
# ZBENCH_MIRROR names another mirror than deb.debian.org.
set -euo pipefail

name=${1:-}
case $name in
trixie | sid) suite=$name ;;
rocm7) suite=sid ;;
torch) suite=trixie ;;
torch-sid) suite=sid ;;
plain-*) suite=${name#plain-} ;;
*)
	echo "usage: $0 trixie|sid|rocm7|torch|torch-sid|plain-bookworm|plain-trixie [DIR]" >&2
	exit 2
	;;
esac
dir=${2:-${ZBENCH_CHROOTS:-${XDG_CACHE_HOME:-$HOME/.cache}/zbench/chroots}/$name}
mirror=${ZBENCH_MIRROR:-http://deb.debian.org/debian}

# wanted lists the packages to install. headers lists the packages of which only the headers are
# copied, because their libraries are large. A change of these lines makes the next run install again.
headers=
mpi="build-essential openmpi-bin libopenmpi-dev"
case $name in
trixie)
	wanted="librccl1 librccl-dev libamdhip64-dev rocm-device-libs-17 $mpi"
	headers=librocblas-dev
	;;
sid)
	wanted="newest libhiprtc and its libamdhip64, $mpi"
	headers="libhipblaslt-dev libhipblas-common-dev libamdhip64-dev"
	;;
rocm7) wanted="librccl1 librccl-dev libamdhip64-dev rocm-device-libs-22 build-essential" ;;
torch*) wanted="python3-torch python3-numpy" ;;
plain-trixie) wanted=rpm ;;
plain-*) wanted= ;;
esac
done_marker=$dir/.zbench-done
base_marker=$dir/.zbench-base
if [ "$(cat "$done_marker" 2>/dev/null)" = "$wanted $headers" ]; then
	echo "$dir"
	exit 0
fi

if [ "$(id -u)" != 0 ]; then
	echo "$0: making a chroot takes root: run it once with sudo" >&2
	exit 1
fi
# debootstrap mounts in a mount namespace of its own, so that nothing stays mounted after this
# script. Where namespaces are not allowed, mounting is not allowed either.
if [ -z "${ZBENCH_UNSHARED:-}" ] && unshare --mount true 2>/dev/null; then
	ZBENCH_UNSHARED=1 exec unshare --mount --propagation private "$0" "$name" "$dir"
fi
mkdir -p "$dir"
exec 9>"$dir.lock"
flock 9
if [ "$(cat "$done_marker" 2>/dev/null)" = "$wanted $headers" ]; then # another run has finished it meanwhile
	echo "$dir"
	exit 0
fi
start=$SECONDS

command -v debootstrap >/dev/null || "$(dirname "$0")/install.sh" debootstrap
if [ ! -e "$base_marker" ]; then
	find "$dir" -xdev -mindepth 1 -delete
	mkdir -p "$dir.debs"
	debootstrap --variant=minbase --cache-dir="$(realpath "$dir.debs")" "$suite" "$dir" "$mirror" >&2
	touch "$base_marker"
fi

inside() { DEBIAN_FRONTEND=noninteractive LC_ALL=C chroot "$dir" "$@" >&2; }
rm -f "$done_marker"
cp -L /etc/resolv.conf "$dir/etc/resolv.conf"
inside dpkg --configure -a
if [ "$name" = rocm7 ]; then
	# apt would take nothing from experimental unless asked. Only ROCm comes from there.
	echo "deb $mirror experimental main" >"$dir/etc/apt/sources.list.d/experimental.list"
	printf 'Package: librccl* libamd* libhip* libhsa* librocm* rocm*\nPin: release a=experimental\nPin-Priority: 500\n' >"$dir/etc/apt/preferences.d/rocm"
fi
# A mirror may be older than sid's expiry dates; the signature is still checked.
inside apt-get -o Acquire::Check-Valid-Until=false update
packages=$wanted
if [ "$name" = sid ]; then
	so=$(LC_ALL=C chroot "$dir" apt-cache pkgnames libhiprtc | sed -n 's/^libhiprtc\([0-9]\+\)$/\1/p' | sort -n | tail -1)
	if [ -z "$so" ] || [ "$so" -lt 6 ]; then
		echo "$0: $name has no libhiprtc of version 6 or later (newest: ${so:-none})" >&2
		exit 1
	fi
	packages="libhiprtc$so libamdhip64-$so $mpi"
fi
# shellcheck disable=SC2086 # a list of packages
inside apt-get install -y --no-install-recommends $packages
if [ -n "$headers" ]; then
	# shellcheck disable=SC2016 # expanded inside the chroot
	inside sh -c 'cd /root && rm -f ./*.deb && apt-get -o APT::Sandbox::User=root download $1 && for deb in ./*.deb; do dpkg -x "$deb" headers; done &&
		cp -r headers/usr/include/. /usr/include && rm -r headers ./*.deb' - "$headers"
fi
inside apt-get clean
rm -rf "$dir.debs"
echo "$wanted $headers" >"$done_marker"
echo "$0: $name ready in $((SECONDS - start)) s, $(du -sxm "$dir" | cut -f1) MiB" >&2
echo "$dir"
