#!/usr/bin/env bash
# Fetch axe-core, the accessibility checker, as an npm package and print the path of
# its axe.min.js. The version and the SHA-512 of the package are fixed here. The file
# is kept in ZBENCH_AXE_CACHE (~/.cache/zbench/axe) and fetched once.
set -euo pipefail
cd "$(dirname "$0")/.."

version=4.10.3
sha512=5e6edba515e70d25f6604d9815f064d859c5d1ea7ab661bbc4f87c88779ef0c21cae0abbeb636471ef39e9d62d2582e4b88a1866f19f4ecfcf6d986275e4dc12
cache=${ZBENCH_AXE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/zbench/axe}
script=$cache/axe-core-$version/axe.min.js

# A kept package is checked too, against the sum above.
package=$cache/axe-core-$version.tgz
mkdir -p "$cache"
if ! echo "$sha512  $package" | sha512sum --check --status 2>/dev/null; then
	command -v npm >/dev/null || scripts/install.sh npm
	new=$(mktemp -d)
	trap 'rm -rf "$new"' EXIT
	npm pack --silent --pack-destination "$new" "axe-core@$version" >&2
	if ! echo "$sha512  $new/axe-core-$version.tgz" | sha512sum --check --status; then
		echo "axe-core $version does not have the expected SHA-512; got $(sha512sum <"$new/axe-core-$version.tgz")" >&2
		exit 1
	fi
	mv "$new/axe-core-$version.tgz" "$package"
fi
mkdir -p "${script%/*}"
tar -xzf "$package" -C "${script%/*}" --strip-components=1 package/axe.min.js
echo "$script"
