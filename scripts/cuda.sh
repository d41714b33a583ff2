#!/usr/bin/env bash
# Fetch NVIDIA's libraries and headers, which need no GPU, from Debian, without
# touching this machine's own package lists:
#
#   scripts/cuda.sh bookworm|trixie [DIR]      prints the folder
#
#   bookworm  nvrtc and CUDA runtime 11.8; headers of CUDA 11.8, NVML and NCCL 2.22.3
#   trixie    nvrtc and CUDA runtime 12.4, the driver's library, sid's NCCL (2.28 or
#             later) and the C library that this NCCL needs; headers of CUDA 12.4, NVML and this NCCL
#
# DIR is $ZBENCH_CHROOTS/cuda-SUITE by default (~/.cache/zbench/chroots). Libraries
# are in usr/lib/x86_64-linux-gnu, the driver's library in nvidia/current below it, headers
# in usr/include. A finished folder is kept and used again. ZBENCH_MIRROR names another
# mirror than deb.debian.org.
set -euo pipefail

# Each suite sets:
#   sources  Debian suites with their sections
#   wanted   packages to install; PACKAGE/SUITE fixes the suite
#   headers  packages of which only the headers are unpacked
#   fronts   packages that are mostly static libraries (CUDA's have 774 and 934 MB) and begin
#            with the headers, so that only their first bytes are fetched. Each line has the
#            file in the pool, the number of bytes, and the sha256 of these bytes, which
#            replaces the check of the signature
headers=
case ${1:-} in
bookworm)
	sources="bookworm non-free"
	wanted="libnvrtc11.2 libnvrtc-builtins11.8 libcudart11.0"
	headers=libnvidia-ml-dev
	fronts="
pool/non-free/n/nvidia-cuda-toolkit/nvidia-cuda-dev_11.8.89~11.8.0-5~deb12u1_amd64.deb 2097152 d183d8bdf04e216c03d69d6e2e102f214ffbe4849bd45aa9fd562f681e9f2cab
pool/contrib/n/nvidia-nccl/libnccl-dev_2.22.3-1-1_amd64.deb 524288 3273d1f6bcc7fa098af35182e16128f472af66578ee45a8bc030f9e9befc8ade
"
	;;
trixie)
	sources="trixie main non-free;sid main contrib"
	wanted="libnvrtc12/trixie libnvrtc-builtins12.4/trixie libcudart12/trixie libcuda1/trixie
libcu++-dev/trixie libnccl2/sid libc6/sid libstdc++6/sid libgcc-s1/sid"
	headers="libnccl-dev/sid libnvidia-ml-dev/trixie"
	fronts="
pool/non-free/n/nvidia-cuda-toolkit/nvidia-cuda-dev_12.4.127~12.4.1-2_amd64.deb 2097152 768e4a7a7ae209fa2fb63556d8f1043ba363a5c076e04e3ec0d3bbc6ec0612fa
"
	;;
*)
	echo "usage: $0 bookworm|trixie [DIR]" >&2
	exit 2
	;;
esac
dir=${2:-${ZBENCH_CHROOTS:-${XDG_CACHE_HOME:-$HOME/.cache}/zbench/chroots}/cuda-$1}
mirror=${ZBENCH_MIRROR:-http://deb.debian.org/debian}

stamp=$(echo "$wanted $headers $fronts" | sha256sum)
mkdir -p "$dir"
exec 9>"$dir.lock"
flock 9
if [ "$(cat "$dir/.zbench-done" 2>/dev/null)" = "$stamp" ]; then
	echo "$dir"
	exit 0
fi
start=$SECONDS
rm -rf "$dir"
mkdir -p "$dir/apt/lists/partial" "$dir/apt/cache/archives/partial" "$dir/apt/parts" "$dir/debs/headers"
dir=$(realpath "$dir")

command -v curl >/dev/null || "$(dirname "$0")/install.sh" curl

# An apt with its sources, lists and cache in this folder only. A mirror may be older than sid's
# expiry dates; the signature is still checked.
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
tr ';' '\n' <<<"$sources" | sed "s|^|deb [signed-by=$keyring] $mirror |" >"$dir/apt/sources.list"
touch "$dir/apt/status"
apt=(-o "Dir::Etc::sourcelist=$dir/apt/sources.list" -o "Dir::Etc::sourceparts=$dir/apt/parts"
	-o "Dir::State::lists=$dir/apt/lists" -o "Dir::State::status=$dir/apt/status"
	-o "Dir::Cache=$dir/apt/cache" -o APT::Sandbox::User=root
	-o Acquire::Languages=none -o Acquire::Check-Valid-Until=false)
apt-get "${apt[@]}" update >&2
cd "$dir/debs"
# shellcheck disable=SC2086 # a list of packages
apt-get "${apt[@]}" download $wanted >&2
for deb in *.deb; do
	dpkg -x "$deb" "$dir"
done

# Unpacks only the headers of a package, or of its front. A front ends in the middle of a library,
# and tar and dpkg-deb complain about that.
only_headers() {
	{ dpkg-deb --fsys-tarfile "$1" 2>/dev/null || true; } |
		{ tar -x -C "$dir" --wildcards './usr/include/*' 2>/dev/null || true; }
}
for package in $headers; do
	(cd headers && apt-get "${apt[@]}" download "$package" >&2)
	only_headers headers/*.deb
	rm headers/*.deb
done
while read -r file bytes sum; do
	[ -n "$file" ] || continue
	curl -fsS --retry 3 -r "0-$((bytes - 1))" -o front "$mirror/$file"
	if ! echo "$sum  front" | sha256sum --check --quiet >&2; then
		echo "$0: $mirror/$file does not begin as it should; a newer version takes a new line in $0" >&2
		exit 1
	fi
	only_headers front
done <<<"$fronts"
for header in cuda.h cuda_runtime_api.h nvrtc.h nccl.h nvml.h; do
	test -s "$dir/usr/include/$header"
done

cd "$dir"
rm -rf "$dir/apt" "$dir/debs"
echo "$stamp" >"$dir/.zbench-done"
echo "$0: $1 ready in $((SECONDS - start)) s, $(du -sxm "$dir" | cut -f1) MiB" >&2
echo "$dir"
