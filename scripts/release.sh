#!/usr/bin/env bash
# Build the files of a release for Linux on amd64: a tar.gz, a deb and an rpm with the binary, the manual pages and
# the completions, the list of modules in the binary (SPDX), and the checksums of these files.
#
#   scripts/release.sh [DIR]       writes to DIR (dist); VERSION replaces the version that git describe prints
#
# Two builds of a commit with the same Go and C compilers are equal bit by bit: files have the time of the commit,
# and no file contains a path of this machine. nfpm is pinned in tools/release/go.mod, which is separate from
# zbench's own dependencies.
set -euo pipefail
cd "$(dirname "$0")/.."

dist=$(realpath -m "${1:-dist}")
go=${GO:-go}
version=${VERSION:-$(git describe --tags --always --dirty)}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC
umask 022

# A package's version must begin with a number. A version without a tag sorts before every release.
package=${version#v}
case $package in
[0-9]*.[0-9]*) package=${package//-/\~} ;;
*) package=0.0.0~git$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y%m%d).${package//-/.} ;;
esac

# Everything else that affects the binary, apart from sources and compilers, is fixed here.
unset CGO_CFLAGS CGO_CXXFLAGS CGO_CPPFLAGS CGO_LDFLAGS
export CGO_ENABLED=1 GOOS=linux GOARCH=amd64 GOAMD64=v1 GOFLAGS=-trimpath

root=$dist/root
rm -rf "$dist"
mkdir -p "$root/usr/bin" "$root/usr/share/doc/zbench"
$go build -buildvcs=false -ldflags "-s -w -X main.version=$version" -o "$root/usr/bin/zbench" ./cmd/zbench
cp LICENSE README.md CHANGELOG.md "$root/usr/share/doc/zbench"
$go test -vet=off -count=1 -run '^TestPackagedPagesAndCompletions$' ./cmd/zbench -args -packaged "$root/usr/share" >/dev/null
gzip -9n "$root"/usr/share/man/man1/*.1

newest=$(objdump -T "$root/usr/bin/zbench" | grep -o 'GLIBC_[0-9.]*' | sort -V | tail -1)
if [ "$(printf '%s\n' "$newest" GLIBC_2.34 | sort -V | tail -1)" != GLIBC_2.34 ]; then
	echo "$0: the binary needs $newest; distributions of 2022 have GLIBC_2.34: build on an older one" >&2
	exit 1
fi

find "$root" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
tar --sort=name --owner=0 --group=0 --numeric-owner --format=posix --pax-option=delete=atime,delete=ctime \
	--transform "s,^\.,zbench-$version," -C "$root/usr" -c . | gzip -9n >"$dist/zbench-$version-linux-amd64.tar.gz"
nfpm=$(GOFLAGS='' $go tool -n -modfile=tools/release/go.mod nfpm)
config=$PWD/tools/release/nfpm.yaml
for kind in deb rpm; do
	(cd "$dist" && VERSION=$package "$nfpm" package --config "$config" --packager "$kind" --target "$dist" >/dev/null)
done
$go version -m "$root/usr/bin/zbench" | awk -v version="$version" -v created="$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)" '
	function package(name, at, id) {
		printf "\nPackageName: %s\nSPDXID: SPDXRef-%s\nPackageVersion: %s\nPackageDownloadLocation: NOASSERTION\nFilesAnalyzed: false\n", name, id, at
	}
	BEGIN {
		printf "SPDXVersion: SPDX-2.3\nDataLicense: CC0-1.0\nSPDXID: SPDXRef-DOCUMENT\nDocumentName: zbench-%s\n", version
		printf "DocumentNamespace: https://zbench.invalid/spdx/%s\nCreator: Tool: scripts/release.sh\nCreated: %s\n", version, created
		package("zbench", version, "zbench")
		print "Relationship: SPDXRef-DOCUMENT DESCRIBES SPDXRef-zbench"
	}
	NR == 1 { package("go", $NF, "go"); print "Relationship: SPDXRef-zbench DEPENDS_ON SPDXRef-go" }
	$1 == "dep" {
		id = $2; gsub(/[^A-Za-z0-9.]/, "-", id)
		package($2, $3, id)
		printf "ExternalRef: PACKAGE-MANAGER purl pkg:golang/%s@%s\nRelationship: SPDXRef-zbench DEPENDS_ON SPDXRef-%s\n", $2, $3, id
	}' >"$dist/zbench-$version.spdx"
rm -r "$root"
(cd "$dist" && sha256sum -- *.tar.gz *.deb *.rpm *.spdx >SHA256SUMS && cat SHA256SUMS)
