package native

/*
#include <stdlib.h>
#include "c/dl.h"
*/
import "C"

import (
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unsafe"

	"zbench/bench/base/slice"
	"zbench/bench/hardware/backend"
)

// Attempt is a file that was tried.
type Attempt struct {
	// Path is the path of the file.
	Path string `json:"path"`
	// Why is the reason why the file was not loaded; absent for the loaded file.
	Why string `json:"why,omitempty"`
	// Absent is true if the file does not exist, which is no defect.
	Absent bool `json:"absent,omitempty"`
	// Fatal is true if a process that opens the file hangs, ends, or prints without end.
	Fatal bool `json:"-"`
}

// Symbol is a function that a library lacks.
type Symbol struct {
	// Field is the function's name in the symbol list.
	Field string `json:"-"`
	// Name is the name of the function.
	Name string `json:"name"`
	// Required is true if nothing runs without the function.
	Required bool `json:"required"`
	// Lost names the features that fail without the function.
	Lost string `json:"lost,omitempty"`
}

// Library is the search for a library and its result.
type Library struct {
	// Role is the purpose of the library.
	Role Role `json:"role"`
	// Name is the file name that was searched for.
	Name string `json:"name"`
	// Path is the path of the loaded file; absent if none was loaded.
	Path string `json:"path,omitempty"`
	// Version is the version that the library reports; absent if none was loaded.
	Version string `json:"version,omitempty"`
	// Required is true if nothing runs without the library.
	Required bool `json:"required"`
	// Lost names the features that fail without the library, if it is not required.
	Lost string `json:"lost,omitempty"`
	// Flag is the command-line flag that names the library's file.
	Flag string `json:"flag"`
	// Remedy is the next step if the library was not loaded. It is empty for the general remedy:
	// install the vendor's product, or name the file.
	Remedy string `json:"-"`
	// By is the flag or variable that named the file; absent if the file was searched for.
	By string `json:"named_by,omitempty"`
	// Attempts are the files that were tried.
	Attempts []Attempt `json:"attempts,omitempty"`
	// Listed is the number of the library's functions that zbench may call.
	Listed int `json:"listed_symbols"`
	// Missing are the functions that the library lacks.
	Missing []Symbol `json:"missing_symbols,omitempty"`
}

// Found reports whether a library was loaded.
func (s *Library) Found() bool { return s.Path != "" }

// lacks() returns the first required symbol that the library lacks.
func (s *Library) lacks() string {
	for _, m := range s.Missing {
		if m.Required {
			return m.Name
		}
	}
	return ""
}

// tried() lists the attempts. Of a missing file it gives only the path.
func (s *Library) tried() string {
	var words []string
	for _, a := range s.Attempts {
		if a.Why == "" || a.Absent && s.By == "" {
			words = append(words, a.Path)
		} else {
			words = append(words, a.Path+": "+a.Why)
		}
	}
	return strings.Join(words, ", ")
}

// finder searches for the libraries of one vendor. End it when done.
type finder struct {
	o       Choice
	v       backend.Vendor
	handles map[C.int]unsafe.Pointer
	opened  []unsafe.Pointer
	found   []*Library
	trial   trial
	// `slow` is true once opening a library has become a task.
	slow bool
}

// end() ends the child process that opens libraries first. Libraries that this process has opened
// stay open.
func (f *finder) end() { f.trial.end(time.Second) }

// wait begins a task once opening a library has taken long enough.
func (f *finder) wait(path string, waited time.Duration) {
	if f.slow || f.o.Progress == nil || waited < openingQuiet {
		return
	}
	f.slow = true
	f.o.Progress(Task{Text: fmt.Sprintf("opening %s (%g s at most: --%s)", path, f.o.within().Seconds(), SettingWithin)})
}

// waited() ends the task that wait() began.
func (f *finder) waited() {
	if f.slow {
		f.slow = false
		f.o.Progress(Task{})
	}
}

// find searches for one library and opens it.
func (f *finder) find(row backend.Library) {
	s := &Library{
		Role: row.Role, Name: row.Name(), Flag: row.Flag,
		Required: row.Lost == "" || f.o.Needs != nil && !slices.Contains(f.o.Wants, row.Role), Lost: row.Lost,
	}
	for range symbolsOf(f.v, row.Role) {
		s.Listed++
	}
	f.found = append(f.found, s)
	candidates, loaded := f.candidates(row, s)
	tried := map[string]bool{}
	for _, path := range candidates {
		if file, err := filepath.EvalSymlinks(path); err == nil && strings.Contains(path, "/") {
			if tried[file] { // librccl.so may link to librccl.so.1, the same file
				continue
			}
			tried[file] = true
		}
		if f.o.given() != nil {
			return
		}
		if h := f.try(s, path, loaded); h != nil {
			f.take(row, s, h, path)
			return
		}
	}
	s.Remedy = remedy(row, s)
}

// remedy returns the next step for a library that was not loaded; empty for the general remedy.
func remedy(row backend.Library, s *Library) string {
	for _, a := range s.Attempts {
		if a.Fatal {
			return "replace the file or name another with --" + s.Flag + "; LD_DEBUG=libs shows what it loads"
		}
		if strings.Contains(a.Why, "' not found (required by") { // a symbol version of the C library is missing
			return "it was built for a newer system than this: take the build for this one, run in the container it is from, or name another file with --" + s.Flag
		}
	}
	if row.Product != "" {
		return "install " + row.Product + ", or name the file with --" + s.Flag
	}
	return ""
}

func (f *finder) path(role Role) string { return searchFor(f.found, role).Path }

// searchFor returns the search for the library of a role; an empty search if there was none.
func searchFor(all []*Library, role Role) *Library {
	if i := slices.IndexFunc(all, func(s *Library) bool { return s.Role == role }); i >= 0 {
		return all[i]
	}
	return &Library{Role: role}
}

// symbolsOf returns the rows of the symbol list for a vendor's library of a role, each with its
// number in the list.
func symbolsOf(v backend.Vendor, role Role) iter.Seq2[C.int, *C.zb_symbol] {
	return func(yield func(C.int, *C.zb_symbol) bool) {
		for i := range C.zb_symbol_count() {
			if s := C.zb_symbol_at(i); s.library[v.Column] == kinds[role] && !yield(i, s) {
				return
			}
		}
	}
}

// try opens one file. It returns nil if the file cannot be opened, and adds the reason to the
// search's attempts.
func (f *finder) try(s *Library, path string, loaded bool) unsafe.Pointer {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	var why [1024]C.char
	fail := func(a Attempt) unsafe.Pointer {
		a.Path = path
		s.Attempts = append(s.Attempts, a)
		return nil
	}
	if !loaded && strings.Contains(path, "/") {
		if fault := C.zb_file_fault(text, &why[0], C.size_t(len(why))); fault != 0 {
			return fail(Attempt{Why: C.GoString(&why[0]), Absent: fault < 0})
		}
	}
	if !loaded {
		defer f.waited()
		if fatal := f.fatal(path); fatal != "" {
			return fail(Attempt{Why: fatal, Fatal: true})
		}
	}
	h := C.zb_open(text, C.int(b2i(loaded)), &why[0], C.size_t(len(why)))
	if h == nil {
		// The loader's message begins with the file that is missing: this file or one of its
		// dependencies.
		said := C.GoString(&why[0])
		if strings.HasPrefix(said, path+": cannot open shared object file: No such file") {
			return fail(Attempt{Why: "not in the loader's path; a file of this folder is ./" + path, Absent: true})
		}
		return fail(Attempt{Why: said})
	}
	if !f.usable(s, h) {
		C.zb_close(h)
		return fail(Attempt{Why: "it has no " + f.probe(s.Role)})
	}
	f.opened = append(f.opened, h)
	return h
}

// usable() reports whether a library contains a compiler. From HIP 7 on the runtime contains no
// compiler.
func (f *finder) usable(s *Library, h unsafe.Pointer) bool {
	if s.Role != RoleCompiler {
		return true
	}
	name := C.CString(f.probe(s.Role))
	defer C.free(unsafe.Pointer(name))
	return C.zb_exports(h, name) != 0
}

// probe returns the name of a function that every library of a role has: the first function in the
// list.
func (f *finder) probe(role Role) string {
	for _, sym := range symbolsOf(f.v, role) {
		return C.GoString(sym.name[f.v.Column])
	}
	return ""
}

// take records an opened library: its real path and its missing symbols.
func (f *finder) take(row backend.Library, s *Library, h unsafe.Pointer, path string) {
	s.Attempts = append(s.Attempts, Attempt{Path: path})
	s.Path = path
	f.handles[kinds[row.Role]] = h
	for i, sym := range symbolsOf(f.v, row.Role) {
		name := sym.name[f.v.Column]
		var whole [4096]C.char
		if C.zb_offers(h, i, C.int(f.v.Column)) == 0 {
			s.Missing = append(s.Missing, Symbol{
				Field: C.GoString(sym.field), Name: C.GoString(name),
				Required: sym.lost == nil, Lost: C.GoString(sym.lost),
			})
		} else if s.Path == path && C.zb_path_of(h, name, &whole[0], C.size_t(len(whole))) != 0 {
			s.Path = C.GoString(&whole[0])
		}
	}
	f.openCompanions(s, row.Companions)
}

// loadedLibraries lists the real paths of the process's libraries whose file names begin
// with the prefix, each path once.
func loadedLibraries(prefix string) []string {
	text := C.CString(prefix)
	defer C.free(unsafe.Pointer(text))
	var out []string
	var path [4096]C.char
	for i := 0; C.zb_loaded(text, C.int(i), &path[0], C.size_t(len(path))) != 0; i++ {
		out = append(out, C.GoString(&path[0]))
	}
	return slice.Distinct(out)
}

// openCompanions opens the libraries that another library opens by bare name at run time, as nvrtc
// does with its builtins. The loader does not search the folder of the library that opens them, so
// in a folder outside of the loader's path they would not be found. Once they are open, the loader
// finds them by name. If a companion cannot be opened, the library reports it later.
func (f *finder) openCompanions(s *Library, pattern string) {
	if pattern == "" {
		return
	}
	files, _ := filepath.Glob(filepath.Join(filepath.Dir(s.Path), pattern)) // Glob fails only for a bad pattern
	for _, file := range files {
		if f.fatal(file) != "" {
			continue
		}
		name := C.CString(file)
		var why [256]C.char
		if h := C.zb_open(name, 0, &why[0], C.size_t(len(why))); h != nil {
			f.opened = append(f.opened, h)
		}
		C.free(unsafe.Pointer(name))
	}
}
