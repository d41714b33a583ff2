package native

import (
	"path/filepath"
	"slices"
	"strings"

	"zbench/bench/base/pattern"
	"zbench/bench/base/slice"
	"zbench/bench/hardware/backend"
)

// candidates lists the files to try for a library. The result `loaded` is true if another library
// has already loaded it.
func (f *finder) candidates(row backend.Library, s *Library) (paths []string, loaded bool) {
	if file, by := f.o.setting(row.Flag); file != "" {
		s.By = by
		return []string{file}, false
	}
	if have := loadedLibraries(s.Name); len(have) > 0 && row.Role == RoleRuntime {
		return have, true
	}
	names := row.Names
	if row.Role == RoleCompiler {
		names = f.likeRuntime(names)
	}
	paths = f.inFolders(row, names)
	if row.Role == RoleCompiler && f.v.CompilerInRuntime {
		paths = append(paths, f.runtimeCandidates()...)
	}
	return paths, false
}

// runtimeCandidates returns the path of the runtime, which contained hiprtc before ROCm 6.
func (f *finder) runtimeCandidates() []string {
	if path := f.path(RoleRuntime); path != "" {
		return []string{path}
	}
	for _, row := range f.v.Libraries {
		if row.Role == RoleRuntime {
			if file, _ := f.o.setting(row.Flag); file != "" {
				return []string{file}
			}
			return f.inFolders(row, row.Names)
		}
	}
	return nil
}

// inFolders returns the paths of the names in each folder to search.
func (f *finder) inFolders(row backend.Library, names []string) (paths []string) {
	for _, folder := range f.folders(row) {
		paths = append(paths, slice.Map(names, func(name string) string { return filepath.Join(folder, name) })...)
	}
	return paths
}

// folders returns the folders to search, in order. An empty folder stands for the
// loader's own path. A compiler is searched in the runtime's folder first. Python's
// packages come last.
func (f *finder) folders(row backend.Library) []string {
	var out []string
	list, _ := f.o.setting(SettingFolders)
	out = append(out, filepath.SplitList(list)...)
	if root, _ := f.o.setting(f.v.Root.Flag); root != "" {
		out = append(out, slice.Map(f.v.Sub, func(sub string) string { return filepath.Join(root, sub) })...)
	}
	if path := f.path(RoleRuntime); path != "" && row.Role == RoleCompiler {
		out = append(out, filepath.Dir(path))
	}
	if f.o.Getenv != nil {
		// The loader searches these folders too, but only a full path lets the file be examined
		// first.
		out = append(out, filepath.SplitList(f.o.Getenv("LD_LIBRARY_PATH"))...)
	}
	out = slices.DeleteFunc(out, func(s string) bool { return s == "" })
	out = append(append(out, ""), f.v.Fixed...)
	// These are last, so that a system installation has precedence.
	return append(append(out, f.besideNamed()...), f.packages()...)
}

// besideNamed returns the folders of the files that flags or variables name, because an
// installation is usually in one folder.
func (f *finder) besideNamed() []string {
	var out []string
	for _, row := range f.v.Libraries {
		if file, _ := f.o.setting(row.Flag); strings.Contains(file, "/") {
			out = append(out, filepath.Dir(file))
		}
	}
	return out
}

var soVersion = pattern.New(`\.so\.(\d+)`)

// likeRuntime moves the name with the runtime's version to the front, because compiler and
// runtime must match.
func (f *finder) likeRuntime(names []string) []string {
	m := soVersion.FindStringSubmatch(filepath.Base(f.path(RoleRuntime)))
	if m == nil {
		return names
	}
	same := func(name string) bool { return strings.HasSuffix(name, ".so."+m[1]) }
	return slices.Concat(slice.Where(names, same), slice.Where(names, func(name string) bool { return !same(name) }))
}
