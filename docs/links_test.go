// Package docs_test checks the project's documents: every link and every path
// that they name exists.
package docs_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"

	"github.com/stretchr/testify/require"
)

var (
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.*?) *#*$`)
	fence   = regexp.MustCompile("(?ms)^```.*?^```")
	code    = regexp.MustCompile("`[^`\n]+`")
	// named is one of zbench's documents as messages and comments name it: in
	// capitals, which other projects' documents are not.
	named = regexp.MustCompile(`\bdocs/[A-Z]+\.md(#[\w-]+)?`)
	// file is a path with an extension, as text names it.
	file = regexp.MustCompile(`^[\w.-]+(/[\w.-]+)+\.(go|c|h|hip|cc|md|sh|txt|txtar|yaml|json|csv|png)$`)
)

// anchors are the ids that GitHub gives a document's headings: lower case, letters,
// digits, hyphens and underscores, a hyphen for each space, and -1, -2, … where a
// heading repeats.
func anchors(text string) map[string]bool {
	out := map[string]bool{}
	count := map[string]int{}
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		id := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, m[1])
		n := count[id]
		count[id]++
		if n > 0 {
			id = fmt.Sprintf("%s-%d", id, n)
		}
		out[id] = true
	}
	return out
}

// dangling returns what the text at a path names that tree does not have.
func dangling(tree fs.FS, at, text string) []string {
	var out []string
	check := func(shown, target string) {
		target, anchor, _ := strings.Cut(target, "#")
		to := at
		if target != "" {
			to = target
		}
		if _, err := fs.Stat(tree, to); err != nil {
			out = append(out, at+": "+shown+": no such file")
			return
		}
		if anchor == "" {
			return
		}
		body, err := fs.ReadFile(tree, to)
		if err != nil || !anchors(string(body))[anchor] {
			out = append(out, at+": "+shown+": no such heading")
		}
	}
	if !strings.HasSuffix(at, ".md") {
		for _, name := range named.FindAllString(text, -1) {
			check(name, name)
		}
		return out
	}
	text = fence.ReplaceAllString(text, "")
	for _, quoted := range code.FindAllString(text, -1) {
		name := strings.Trim(quoted, "`")
		first, _, _ := strings.Cut(name, "/")
		if _, err := fs.Stat(tree, first); err == nil && file.MatchString(name) {
			check(quoted, name)
		}
	}
	for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
		switch {
		case strings.Contains(m[1], "://"):
		case strings.HasPrefix(m[1], "#"):
			check(m[1], m[1])
		default:
			check(m[1], path.Join(path.Dir(at), m[1]))
		}
	}
	return out
}

func TestDanglingIsFound(t *testing.T) {
	const doc = "# One page\n\n## Cost, in µs\n\n## Cost, in µs\n\n```\n# not a heading\n```\n"
	tree := fstest.MapFS{
		"README.md": {Data: []byte(doc)}, "docs/A.md": {Data: []byte(doc)}, "bench/x.go": {Data: []byte("package x")},
	}
	for text, want := range map[string]string{
		"[a](docs/A.md)":                                    "",
		"[a](docs/A.md#cost-in-µs)":                         "",
		"[a](docs/A.md#cost-in-µs-1)":                       "",
		"[a](#one-page)":                                    "",
		"[a](https://example.org/none.md#x)":                "",
		"`bench/x.go`":                                      "",
		"`src/graph/topo.cc` of another repository":         "",
		"`[a](none.md)`":                                    "",
		"```\n[a](none.md)\n```":                            "",
		"[a](docs/B.md)":                                    "README.md: docs/B.md: no such file",
		"[a](docs/A.md#cost)":                               "README.md: docs/A.md#cost: no such heading",
		"[a](docs/A.md#cost-in-µs-2)":                       "README.md: docs/A.md#cost-in-µs-2: no such heading",
		"[a](#not-a-heading)":                               "README.md: #not-a-heading: no such heading",
		"`bench/y.go`":                                      "README.md: `bench/y.go`: no such file",
		"![a picture](docs/none.png) and [a](docs/A.md)":    "README.md: docs/none.png: no such file",
		"text [a\nb](docs/C.md) that a line break runs in ": "README.md: docs/C.md: no such file",
	} {
		require.Equal(t, want, strings.Join(dangling(tree, "README.md", text), "\n"), text)
	}
	require.Equal(t, []string{"docs/A.md: A.md#none: no such heading"}, dangling(tree, "docs/A.md", "[a](../README.md) [b](A.md#none)"))
	require.Equal(t, []string{"bench/x.go: docs/B.md: no such file", "bench/x.go: docs/A.md#none: no such heading"},
		dangling(tree, "bench/x.go", "// docs/A.md, docs/B.md, docs/A.md#none"))
}

// Every link, heading and path that the documents name exists, and so does every
// document that code, scripts and messages name.
func TestNothingDangles(t *testing.T) {
	tree := os.DirFS("..")
	var found []string
	err := fs.WalkDir(tree, ".", func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (at == ".git" || at == "bin" || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || !slices.Contains([]string{".md", ".go", ".c", ".h", ".hip", ".sh", ".html", ".yaml"}, path.Ext(at)):
			return nil
		case at == "docs/links_test.go":
			return nil
		}
		text, err := fs.ReadFile(tree, at)
		found = append(found, dangling(tree, at, string(text))...)
		return err
	})
	require.NoError(t, err)
	require.Empty(t, found)
}
