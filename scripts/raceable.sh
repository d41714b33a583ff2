#!/usr/bin/env bash
# Print the packages whose tests can have a data race, one per line.
#
#   scripts/raceable.sh [DIR]      DIR is a module's root, this one by default
#
# A race needs two goroutines. A package is printed if a line starts a goroutine in
#   - the package's own tests, or
#   - the code of a package of this module that is built into these tests.
# Such a line has a go statement, or calls a function that runs its argument in a
# goroutine. The list is made from the sources each time, so it needs no upkeep.
# Other modules are not searched: they wait for the goroutines that they start, and
# no library used here calls back from one. A test in test/suite compares this list
# with the syntax trees of all files.
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

module=$(go list -m)
# One line per file: PACKAGE KIND FILE, with KIND code or test.
files=$(go list -f '{{$p := .}}{{range .GoFiles}}{{$p.ImportPath}} code {{$p.Dir}}/{{.}}
{{end}}{{range .CgoFiles}}{{$p.ImportPath}} code {{$p.Dir}}/{{.}}
{{end}}{{range .TestGoFiles}}{{$p.ImportPath}} test {{$p.Dir}}/{{.}}
{{end}}{{range .XTestGoFiles}}{{$p.ImportPath}} test {{$p.Dir}}/{{.}}
{{end}}' ./...)
statement='(^|[{;:])[[:space:]]*go[[:space:]]+[[:alpha:]_(]'
call='\.(Go|AfterFunc|Parallel|RunParallel|Eventually|EventuallyWithT|Never)f?\('
library='(testscript\.Run|signal\.Notify|runtime\.SetFinalizer|runtime\.AddCleanup|httptest\.New|http\.ListenAndServe|http\.Serve)[A-Za-z]*[[(]'
# os/exec starts a goroutine that copies a command's input or output, unless that is a file.
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
