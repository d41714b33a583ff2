#!/usr/bin/env bash
# Print the packages whose tests can have a data race, one a line.
#
#   scripts/raceable.sh [DIR]      DIR is a module's root, this one by default
#
# A race takes two goroutines. The tests of a package have one, unless a line
# starts another in
#   - the package's own tests, or
#   - the code, tests aside, of any package of this module that they are built of.
# Such a line has a go statement, or calls something that runs its argument in a
# goroutine. The list is made from the sources each time, so it needs no upkeep.
# Libraries of others are not looked at: what they start, they wait for, and none
# that is used here calls back from it. test/suite holds the list to the syntax
# trees of all files.
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

module=$(go list -m)
# PACKAGE KIND FILE, with KIND code or test, for each file.
files=$(go list -f '{{$p := .}}{{range .GoFiles}}{{$p.ImportPath}} code {{$p.Dir}}/{{.}}
{{end}}{{range .CgoFiles}}{{$p.ImportPath}} code {{$p.Dir}}/{{.}}
{{end}}{{range .TestGoFiles}}{{$p.ImportPath}} test {{$p.Dir}}/{{.}}
{{end}}{{range .XTestGoFiles}}{{$p.ImportPath}} test {{$p.Dir}}/{{.}}
{{end}}' ./...)
statement='(^|[{;:])[[:space:]]*go[[:space:]]+[[:alpha:]_(]'
call='\.(Go|AfterFunc|Parallel|RunParallel|Eventually|EventuallyWithT|Never)f?\('
library='(testscript\.Run|signal\.Notify|runtime\.SetFinalizer|runtime\.AddCleanup|httptest\.New|http\.ListenAndServe|http\.Serve)[A-Za-z]*[[(]'
# A goroutine copies a command's output unless it goes to a file.
copied='\.(Stdin|Stdout|Stderr)\>.* = '
starting=$(cut -d' ' -f3- <<<"$files" | tr '\n' '\0' | xargs -0 -r grep -lE "$statement|$call|$library|$copied" || true)

go list -test -f '{{if eq .Name "main"}}{{.ImportPath}} {{join .Deps " "}}{{end}}' ./... |
	awk -v module="$module" '
		FILENAME == ARGV[1] { starts[$0]; next }
		FILENAME == ARGV[2] { file = $0; sub(/^[^ ]+ [^ ]+ /, "", file); if (file in starts) { found[$2, $1] }; next }
		$1 ~ /\.test$/ {
			package = $1; sub(/\.test$/, "", package)
			raceable = ("test", package) in found
			for (i = 2; i <= NF; i++) { raceable = raceable || (("code", $i) in found) }
			if (raceable) { print package }
		}' <(echo "$starting") <(echo "$files") -
