#!/usr/bin/env bash
# Fetch NVIDIA's run-time compiler and the headers of CUDA and NCCL from Debian,
# without touching this machine's own package lists:
#
#   scripts/nvrtc.sh [DIR]      prints the folder
#
# DIR is $ZBENCH_CHROOTS/nvrtc by default (~/.cache/zbench/chroots). The
# libraries (nvrtc 11.8, the CUDA runtime 11.8) are in usr/lib/x86_64-linux-gnu
# and compile without a GPU; the headers (CUDA 11.8, NCCL 2.22.3) in usr/include.
# What is finished is kept and used again. ZBENCH_MIRROR names another mirror
# than deb.debian.org.
set -euo pipefail

dir=${1:-${ZBENCH_CHROOTS:-${XDG_CACHE_HOME:-$HOME/.cache}/zbench/chroots}/nvrtc}
mirror=${ZBENCH_MIRROR:-http://deb.debian.org/debian}
wanted="libnvrtc11.2 libnvrtc-builtins11.8 libcudart11.0"

# The headers' packages are 774 and 114 MB of static libraries, with the headers
# at the front: the first bytes do. Their checksum stands for the signature.
# file in the pool, bytes, sha256 of these bytes
headers="
pool/non-free/n/nvidia-cuda-toolkit/nvidia-cuda-dev_11.8.89~11.8.0-5~deb12u1_amd64.deb 2097152 d183d8bdf04e216c03d69d6e2e102f214ffbe4849bd45aa9fd562f681e9f2cab
pool/contrib/n/nvidia-nccl/libnccl-dev_2.22.3-1-1_amd64.deb 524288 3273d1f6bcc7fa098af35182e16128f472af66578ee45a8bc030f9e9befc8ade
"
stamp=$(echo "$wanted $headers" | sha256sum)
mkdir -p "$dir"
exec 9>"$dir.lock"
flock 9
if [ "$(cat "$dir/.zbench-done" 2>/dev/null)" = "$stamp" ]; then
	echo "$dir"
	exit 0
fi
start=$SECONDS
rm -rf "$dir"
mkdir -p "$dir/apt/lists/partial" "$dir/apt/cache/archives/partial" "$dir/apt/parts" "$dir/debs"
dir=$(realpath "$dir")

if ! command -v curl >/dev/null; then
	sudo=
	[ "$(id -u)" = 0 ] || sudo=sudo
	$sudo apt-get update >&2
	DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y --no-install-recommends curl >&2
fi

# An apt whose sources, lists and cache are in this folder alone.
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb [signed-by=$keyring] $mirror bookworm non-free" >"$dir/apt/sources.list"
touch "$dir/apt/status"
apt=(-o "Dir::Etc::sourcelist=$dir/apt/sources.list" -o "Dir::Etc::sourceparts=$dir/apt/parts"
	-o "Dir::State::lists=$dir/apt/lists" -o "Dir::State::status=$dir/apt/status"
	-o "Dir::Cache=$dir/apt/cache" -o APT::Sandbox::User=root)
apt-get "${apt[@]}" update >&2
cd "$dir/debs"
# shellcheck disable=SC2086 # a list of packages
apt-get "${apt[@]}" download $wanted >&2
for deb in *.deb; do
	dpkg -x "$deb" "$dir"
done

while read -r file bytes sum; do
	[ -n "$file" ] || continue
	curl -fsS --retry 3 -r "0-$((bytes - 1))" -o front "$mirror/$file"
	if ! echo "$sum  front" | sha256sum --check --quiet >&2; then
		echo "$0: $mirror/$file does not begin as it should; a newer version takes a new line in $0" >&2
		exit 1
	fi
	# It ends in the middle of a library, of which tar and dpkg-deb complain.
	{ dpkg-deb --fsys-tarfile front 2>/dev/null || true; } |
		{ tar -x -C "$dir" --wildcards './usr/include/*' 2>/dev/null || true; }
done <<<"$headers"
for header in cuda.h cuda_runtime_api.h nvrtc.h nccl.h; do
	test -s "$dir/usr/include/$header"
done

cd "$dir"
rm -rf "$dir/apt" "$dir/debs"
echo "$stamp" >"$dir/.zbench-done"
echo "$0: ready in $((SECONDS - start)) s, $(du -sxm "$dir" | cut -f1) MiB" >&2
echo "$dir"
