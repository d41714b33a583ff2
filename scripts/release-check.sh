#!/usr/bin/env bash
# Check a release. Two builds in two folders, the second without a build cache, must be equal bit by bit. The deb is
# installed, run and removed in a clean Debian 12 and 13, the rpm in a Debian 13; no file of a package may remain.
#
#   scripts/release-check.sh       builds HEAD; needs root, because it makes the chroots
set -euo pipefail
cd "$(dirname "$0")/.."

VERSION=${VERSION:-$(git describe --tags --always)}
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export VERSION SOURCE_DATE_EPOCH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

build() { # FOLDER
	mkdir -p "$work/$1"
	git archive HEAD | tar -x -C "$work/$1"
	"$work/$1/scripts/release.sh" "$work/$1/dist" >/dev/null
}
build one
GOCACHE=$work/cache CCACHE_DISABLE=1 build two/deeper
chmod -R u+w "$work/cache"
for file in "$work"/one/dist/*; do
	cmp "$file" "$work/two/deeper/dist/$(basename "$file")"
done
echo "equal: $(cd "$work/one/dist" && echo *)"

files() { find "$1"/usr "$1"/etc -xdev ! -type d | sort; }
same() { # ROOT WHAT, after files "$ROOT" >"$work/before"
	diff "$work/before" <(files "$1") >&2 || { echo "$0: $2 leaves the files above behind" >&2; exit 1; }
}
# shellcheck disable=SC2016 # expanded inside
try='test "$(zbench version)" && zbench collectives all_reduce -b 1M -e 1M --out /tmp/run -q >/dev/null && rm -r /tmp/run && zbench completion bash >/dev/null'
for name in plain-bookworm plain-trixie; do
	root=$(scripts/chroot.sh "$name")
	files "$root" >"$work/before"
	cp "$work"/one/dist/*.deb "$root/tmp/zbench.deb"
	chroot "$root" sh -ec "dpkg -i /tmp/zbench.deb && $try" >/dev/null
	chroot "$root" dpkg -P zbench >/dev/null
	rm "$root/tmp/zbench.deb"
	same "$root" "the deb in $name"
	echo "installed, run and removed: the deb in $name"
done
cp "$work"/one/dist/*.rpm "$root/tmp/zbench.rpm"
chroot "$root" sh -ec "rpm --root / --dbpath /tmp/rpm --nodeps -i /tmp/zbench.rpm && $try && rpm --root / --dbpath /tmp/rpm --nodeps -e zbench && rm -r /tmp/rpm /tmp/zbench.rpm" >/dev/null
same "$root" "the rpm"
echo "installed, run and removed: the rpm in $name"
