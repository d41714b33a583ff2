package native

import (
	"path/filepath"
	"strings"

	"zbench/bench/base/slice"
)

// sitePatterns are the folders of packages below a Python's prefix: the usual one, Red Hat's on
// 64-bit systems, and Debian's for apt and pip.
var sitePatterns = []string{
	"lib/python3*/site-packages", "lib64/python3*/site-packages",
	"lib/python3*/dist-packages", "local/lib/python3*/dist-packages",
}

// prefixVariables are the variables with the prefix of the active environment.
var prefixVariables = []string{"VIRTUAL_ENV", "CONDA_PREFIX"}

// interpreters are the names of Python that are searched on PATH.
var interpreters = []string{"python3", "python"}

// packages lists the existing folders of Python's packages that can contain the vendor's libraries.
// It starts no Python.
func (f *finder) packages() []string {
	var out []string
	seen := map[string]bool{}
	for _, site := range f.sites() {
		for _, sub := range f.v.Packages {
			found, _ := filepath.Glob(filepath.Join(literal(site), sub)) // the only error is a bad pattern
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

// sites lists the folders of Python's packages in the order of Python's own path:
// PYTHONPATH, the active environment, the first Python on PATH, the user's own.
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
			found, _ := filepath.Glob(filepath.Join(literal(prefix), pattern)) // the only error is a bad pattern
			out = append(out, found...)
		}
	}
	return out
}

// pythons lists the prefixes of the first Python on PATH: that of its name, as in a virtual
// environment, and that of the file behind it.
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

// literal returns a pattern that only matches the path.
func literal(path string) string { return globEscaper.Replace(path) }
