// Package backend has the table of GPU vendors: a row has the names of a vendor's libraries and files,
// its variables, and what its compiler and runtime do in a way of their own. All that opens, finds or
// names something of a vendor takes it from here. What C needs to know is the column of the row in the
// list of symbols (internal/native/c/abi.h).
package backend

import (
	"cmp"
	"slices"
	"strings"

	"zbench/bench/slice"
)

// Loopback is the simulated backend, which has no row.
const Loopback = "loopback"

// Role is what a library is for.
type Role string

// The roles of a vendor's libraries.
const (
	Collectives Role = "collectives"
	Runtime     Role = "runtime"
	Driver      Role = "driver"
	Compiler    Role = "compiler"
	Products    Role = "matrix product"
	Heuristics  Role = "matrix product by heuristics"
	Management  Role = "management"
)

// Library is the names and the purpose of a library.
type Library struct {
	Role Role
	// Names are file names, the preferred first; the last one names it in texts.
	Names []string
	// Setting names its file.
	Setting
	// Lost is what does not work without the library; empty if nothing works.
	Lost string
	// Alone is true if a process must not have two of them.
	Alone bool
	// Product is what to install if the vendor's product does not contain it.
	Product string
	// Companions is a pattern of files beside it that it opens by name.
	Companions string
}

// Name is the one without a version.
func (l Library) Name() string { return l.Names[len(l.Names)-1] }

// Loaded is a shared library that a process has opened.
type Loaded struct {
	// Name of the library.
	Name string `json:"name"`
	// Version the library states.
	Version string `json:"version"`
	// Where it was found.
	Path string `json:"path,omitempty"`
}

// Setting is a file or folder that a user can set by a flag or by a variable.
type Setting struct {
	// Flag is the flag's name without dashes; Variables are looked up in their
	// order if the flag is not given.
	Flag      string
	Variables []string
	// Backend is the backend of the setting, empty for all.
	Backend string
	Meaning string
}

// Vendor is a row.
type Vendor struct {
	// Backend is its name in flags and records; Order is its place in listings.
	Backend string
	Order   int
	// Column is that of the list of symbols.
	Column int
	// NCCL tells that the collectives library is NCCL, not RCCL, which is NCCL changed.
	NCCL bool
	// Libraries are in the order of opening; BLAS has the matrix products, LT those by heuristics. Both
	// are optional.
	Libraries []Library
	BLAS, LT  Library
	// Sensors is the library of management, for power and temperature; the kernel tells of others.
	Sensors Library
	// Faster is a variable that makes BLAS take its fastest kernels; empty for none.
	Faster string
	// Root is the setting that names the installation, Sub its folders of libraries, Fixed the
	// folders that are searched anyway, Packages those below Python's site-packages.
	Root                 Setting
	Sub, Fixed, Packages []string
	// Product is what to install.
	Product string

	// Node is the device node that a GPU of the vendor has, and DriverName and DriverFile are its kernel
	// driver and the file with the version.
	Node, DriverName, DriverFile string
	// Tool shows its GPUs.
	Tool string
	// Hiding are the variables that hide GPUs from a process, the usual one last. Prefixes are those of
	// the variables that its libraries read.
	Hiding, Prefixes []string

	// ArchOption is the compiler's option for the architecture, Options the others. Waves are the
	// threads that run in step, by the architecture's first letters.
	ArchOption string
	Options    []string
	Waves      map[string]int
	// Capability is the form of an architecture's name from its two numbers; empty where the compiler
	// asks the device.
	Capability string
	// CompilerInRuntime: a runtime may have the compiler in it.
	CompilerInRuntime bool
	// Version spells the number of a runtime's or a driver's version.
	Version func(int) string

	// Torch is what PyTorch calls for a product. TransposedFP8: LT takes fp8 as TN alone.
	Torch         Torch
	TransposedFP8 bool
	// FNUZ is the capability of the GPUs whose fp8 has the FNUZ form; zero for none.
	FNUZ [2]int

	// Stream is how BabelStream's model for the vendor launches.
	Stream Stream
	// FewThreads: a launch may have fewer threads in a block than the kernel was compiled for.
	FewThreads bool
}

// Torch is PyTorch's product: LT tells that it takes the first choice of the heuristics, else the plain
// product; Workspace is in bytes.
type Torch struct {
	LT        bool
	Workspace int64
}

// Stream is a stream's launch: the threads of a block, and Strided where a thread has four elements,
// each a grid apart.
type Stream struct {
	Block   int
	Strided bool
}

var vendors []Vendor

func register(v Vendor) Vendor { //nolint:unparam // a variable takes it
	v.Root.Backend = v.Backend
	for i := range v.Libraries {
		v.Libraries[i].Backend = v.Backend
	}
	vendors = append(vendors, v)
	slices.SortFunc(vendors, func(a, b Vendor) int { return cmp.Compare(a.Order, b.Order) })
	return v
}

// Vendors lists the table.
func Vendors() []Vendor { return slices.Clone(vendors) }

// Names lists the backends: the loopback, then the vendors'.
func Names() []string {
	names := []string{Loopback}
	for _, v := range vendors {
		names = append(names, v.Backend)
	}
	return names
}

// Of is the row of a backend.
func Of(backend string) (Vendor, bool) {
	i := slices.IndexFunc(vendors, func(v Vendor) bool { return v.Backend == backend })
	if i < 0 {
		return Vendor{}, false
	}
	return vendors[i], true
}

// Like is the row of a backend, and for the loopback the one that it is made after: the first.
func Like(backend string) Vendor {
	if v, ok := Of(backend); ok {
		return v
	}
	return vendors[0]
}

// Settings lists the vendors' settings.
func Settings() []Setting {
	var all []Setting
	for _, v := range vendors {
		all = append(all, v.Root)
		for _, l := range v.Libraries {
			all = append(all, l.Setting)
		}
	}
	return all
}

// Hiding lists the variables that hide GPUs.
func Hiding() []string {
	var all []string
	for _, v := range vendors {
		all = append(all, v.Hiding...)
	}
	return all
}

// Tools names the vendors' tools for a hint.
func Tools() string { return Text(" or ", func(v Vendor) string { return v.Tool }) }

// Text joins one word of each vendor.
func Text(by string, word func(Vendor) string) string {
	return strings.Join(slice.Map(vendors, word), by)
}

const kernelsLost = "kernels: verification, the delay of isolated timing, memory and kernel benchmarks"
