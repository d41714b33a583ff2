// Package backend holds the table of GPU vendors. A row has the vendor's library and file names,
// its variables, and the special behaviour of its compiler and runtime. All code that opens, finds
// or names something of a vendor reads this table. C code only needs the row's column in the list
// of symbols (internal/native/c/abi.h).
package backend

import (
	"cmp"
	"slices"
	"strings"

	"zbench/bench/base/slice"
)

// Loopback is the simulated backend, which has no row.
const Loopback = "loopback"

// Role is the purpose of a library.
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

// Library holds the names and the purpose of a library.
type Library struct {
	Role Role
	// Names are file names, the preferred one first; messages use the last one.
	Names []string
	// Setting gives the path of the library's file.
	Setting
	// Lost names the features that do not work without the library; empty if nothing works.
	Lost string
	// Alone is true if a process must not load two of them.
	Alone bool
	// Product is the package to install if the vendor's product does not contain the library.
	Product string
	// Companions is a pattern of files beside the library that it opens by name.
	Companions string
}

// Name returns the file name without a version.
func (l Library) Name() string { return l.Names[len(l.Names)-1] }

// Loaded is a shared library that a process has opened.
type Loaded struct {
	// Name of the library.
	Name string `json:"name"`
	// Version that the library reports.
	Version string `json:"version"`
	// Path where it was found.
	Path string `json:"path,omitempty"`
}

// Setting is a file or folder that a user can set by a flag or by a variable.
type Setting struct {
	// Flag is the flag's name without dashes. Variables are tried in order if the flag is not
	// given.
	Flag      string
	Variables []string
	// Backend is the backend of the setting, empty for all.
	Backend string
	Meaning string
}

// Vendor is a row of the table.
type Vendor struct {
	// Backend is its name in flags and records; Order is its place in listings.
	Backend string
	Order   int
	// Column is the vendor's column in the list of symbols.
	Column int
	// NCCL is true if the collectives library is NCCL, and false for RCCL, which is derived from
	// it.
	NCCL bool
	// Libraries are in the order of opening. BLAS has the plain matrix products, LT those chosen by
	// heuristics; both are optional.
	Libraries []Library
	BLAS, LT  Library
	// Sensors is the management library for power and temperature. Without one the kernel's files
	// are read.
	Sensors Library
	// Faster is a variable that makes BLAS choose its fastest kernels; empty if there is none.
	Faster string
	// Root is the setting of the installation folder, Sub its library folders, Fixed the folders
	// that are always searched, Packages the folders below Python's site-packages.
	Root                 Setting
	Sub, Fixed, Packages []string
	// Product is the package to install.
	Product string

	// Node is the device node of the vendor's GPUs. DriverName is their kernel driver, DriverFile
	// the file with its version.
	Node, DriverName, DriverFile string
	// Tool is the vendor's program that lists the GPUs.
	Tool string
	// Hiding are the variables that hide GPUs from a process, the usual one last. Prefixes are
	// those of all variables that its libraries read.
	Hiding, Prefixes []string

	// ArchOption is the compiler's option for the architecture, Options the other options. Waves
	// gives the threads per wavefront by the architecture's first letters.
	ArchOption string
	Options    []string
	Waves      map[string]int
	// Capability formats an architecture's name from its two numbers; empty if the compiler asks
	// the device.
	Capability string
	// CompilerInRuntime is true if the runtime library may contain the compiler.
	CompilerInRuntime bool
	// Version formats the version number of a runtime or a driver.
	Version func(int) string

	// Torch is the call that PyTorch makes for a product. TransposedFP8 is true if LT takes fp8
	// only as TN.
	Torch         Torch
	TransposedFP8 bool
	// FNUZ is the capability of the GPUs with the FNUZ form of fp8; zero for none.
	FNUZ [2]int

	// Stream is the launch that BabelStream's model for the vendor uses.
	Stream Stream
	// FewThreads is true if a block may have fewer threads than its kernel was compiled for.
	FewThreads bool
}

// Torch describes PyTorch's product. With LT it takes the heuristics' first choice, else the plain
// product. Workspace is in bytes.
type Torch struct {
	LT        bool
	Workspace int64
}

// Stream describes a stream's launch: the threads per block. If Strided, each thread has four
// elements, one grid apart.
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

// Vendors returns the table.
func Vendors() []Vendor { return slices.Clone(vendors) }

// Names returns the names of all backends: the loopback first, then the vendors'.
func Names() []string {
	names := []string{Loopback}
	for _, v := range vendors {
		names = append(names, v.Backend)
	}
	return names
}

// Of returns the row of a backend.
func Of(backend string) (Vendor, bool) {
	i := slices.IndexFunc(vendors, func(v Vendor) bool { return v.Backend == backend })
	if i < 0 {
		return Vendor{}, false
	}
	return vendors[i], true
}

// Like returns the row of a backend. For the loopback it is the first row, which the loopback
// imitates.
func Like(backend string) Vendor {
	if v, ok := Of(backend); ok {
		return v
	}
	return vendors[0]
}

// Settings returns the settings of all vendors.
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

// Hiding returns the variables that hide GPUs.
func Hiding() []string {
	var all []string
	for _, v := range vendors {
		all = append(all, v.Hiding...)
	}
	return all
}

// Tools returns the vendors' tools as text for a hint.
func Tools() string { return Text(" or ", func(v Vendor) string { return v.Tool }) }

// ToolOf returns the tool of a backend's vendor; all vendors' tools if the backend is none of theirs.
func ToolOf(backend string) string {
	if v, ok := Of(backend); ok {
		return v.Tool
	}
	return Tools()
}

// Text joins one word per vendor.
func Text(by string, word func(Vendor) string) string {
	return strings.Join(slice.Map(vendors, word), by)
}

const kernelsLost = "kernels: verification, the delay of isolated timing, memory and kernel benchmarks"
