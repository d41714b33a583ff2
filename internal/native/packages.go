package native

import (
	"path/filepath"
	"strings"

	"zbench/bench/base/slice"
)

// sitePatterns are the folders of packages below the prefix of a Python: the usual folder, Red
// Hat's folder on 64-bit systems, and Debian's folders for apt and pip.
var sitePatterns = []string{
	"lib/python3*/site-packages", "lib64/python3*/site-packages",
	"lib/python3*/dist-packages", "local/lib/python3*/dist-packages",
}

// prefixVariables are the variables that name the prefix of the active environment.
var prefixVariables = []string{"VIRTUAL_ENV", "CONDA_PREFIX"}

// interpreters are the names of Python that zbench looks for on PATH.
var interpreters = []string{"python3", "python"}

// packages() lists the existing folders of Python packages that may contain the vendor's libraries.
// It does not start Python.
func (f *finder) packages() []string {
	var out []string
	seen := map[string]bool{}
	for _, site := range f.sites() {
		for _, sub := range f.v.Packages {
			found, _ := filepath.Glob(filepath.Join(literal(site), sub)) // Glob fails only for a bad pattern
			for _, folder := range found {
				if whole, err := filepath.EvalSymlinks(folder); err == nil && !seen[whole] {
					seen[whole] = true
					out = append(out, folder)
				}
			}
		}
	}
	return out
}

// sites() lists the folders of Python packages in the order of Python's own
// search: PYTHONPATH, the active environment, the first Python on PATH, the
// user's own folder.
func (f *finder) sites() []string {
	if f.o.Getenv == nil {
		return nil
	}
	given := func(folder string) bool { return folder != "" }
	out := slice.Where(filepath.SplitList(f.o.Getenv("PYTHONPATH")), given)
	prefixes := append(slice.Map(prefixVariables, f.o.Getenv), f.pythons()...)
	if home := f.o.Getenv("HOME"); home != "" {
		prefixes = append(prefixes, filepath.Join(home, ".local"))
	}
	for _, prefix := range slice.Where(prefixes, given) {
		for _, pattern := range sitePatterns {
			found, _ := filepath.Glob(filepath.Join(literal(prefix), pattern)) // Glob fails only for a bad pattern
			out = append(out, found...)
		}
	}
	return out
}

// pythons() lists the prefixes of the first Python on PATH: the prefix by its name, as in a virtual
// environment, and the prefix of the file that the name links to.
func (f *finder) pythons() []string {
	for _, name := range interpreters {
		for _, folder := range filepath.SplitList(f.o.Getenv("PATH")) {
			if folder == "" {
				continue
			}
			if file, err := filepath.EvalSymlinks(filepath.Join(folder, name)); err == nil {
				return []string{filepath.Dir(folder), filepath.Dir(filepath.Dir(file))}
			}
		}
	}
	return nil
}

var globEscaper = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// literal escapes a path, so that as a pattern it matches only itself.
func literal(path string) string { return globEscaper.Replace(path) }
