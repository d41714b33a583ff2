// Package backend holds the table of GPU vendors. A row has the names of the vendor's libraries,
// files and variables, and the special behaviour of its compiler and runtime. All code that opens,
// finds or names something of a vendor reads this table. C code needs only the vendor's column in
// the list of symbols (internal/native/c/abi.h).
package backend

import (
	"cmp"
	"slices"
	"strings"

	"zbench/bench/base/slice"
)

// Loopback is the name of the simulated backend, which has no row.
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
	// Names are file names. The first one is preferred; the last one is used in messages.
	Names []string
	// Setting lets a user give the path of the library's file.
	Setting
	// Lost names the features that do not work without the library; empty if nothing works.
	Lost string
	// Alone is true if a process must not load two copies of the library.
	Alone bool
	// Product is the package to install for this library if it differs from the vendor's Product.
	Product string
	// Companions is a pattern of files in the library's folder that the library opens by name.
	Companions string
}

// Name returns the file name without a version.
func (l Library) Name() string { return l.Names[len(l.Names)-1] }

// Loaded is a shared library that a process has opened.
type Loaded struct {
	// Name is the name of the library.
	Name string `json:"name"`
	// Version is the version that the library reports.
	Version string `json:"version"`
	// Path is the file from which it was loaded.
	Path string `json:"path,omitempty"`
}

// Setting is a file or folder that users can set by a flag or a variable.
type Setting struct {
	// Flag is the flag's name without dashes. If the flag is not given, Variables are tried in
	// order.
	Flag      string
	Variables []string
	// Backend is the backend that the setting applies to; empty if it applies to all.
	Backend string
	Meaning string
}

// Vendor is a row of the table.
type Vendor struct {
	// Backend is the vendor's name in flags and records. Order is its place in listings.
	Backend string
	Order   int
	// Column is the vendor's column in the list of symbols.
	Column int
	// NCCL is true if the collectives library is NCCL, and false if it is RCCL, a derivative of
	// NCCL.
	NCCL bool
	// Libraries are in the order in which they are opened. BLAS has the plain matrix products, LT
	// has the products that a heuristic chooses. Both are optional.
	Libraries []Library
	BLAS, LT  Library
	// Sensors is the management library for power and temperature. If it is empty, zbench reads the
	// kernel's files.
	Sensors Library
	// Faster is a variable that makes BLAS choose its fastest kernels; empty if there is none.
	Faster string
	// Root is the setting for the installation folder, and Sub are its subfolders with libraries.
	// Fixed are folders that are always searched. Packages are folders below Python's
	// site-packages.
	Root                 Setting
	Sub, Fixed, Packages []string
	// Product is the package to install.
	Product string

	// Node is the device node of the vendor's GPUs. DriverName is the name of the kernel driver,
	// and DriverFile is the file with its version.
	Node, DriverName, DriverFile string
	// Tool is the vendor's program that lists the GPUs.
	Tool string
	// Hiding are the variables that hide GPUs from a process, the most common one last. Prefixes
	// are the prefixes of all variables that the vendor's libraries read.
	Hiding, Prefixes []string

	// ArchOption is the compiler's option for the architecture. Options are its other options.
	// Waves gives the number of threads per wavefront by the first letters of the architecture.
	ArchOption string
	Options    []string
	Waves      map[string]int
	// Capability formats an architecture's name from its two version numbers; empty if the compiler
	// asks the device.
	Capability string
	// CompilerInRuntime is true if the runtime library may contain the compiler.
	CompilerInRuntime bool
	// Version formats the version number of a runtime or a driver.
	Version func(int) string

	// Torch is the call that PyTorch makes for a matrix product. TransposedFP8 is true if LT
	// accepts fp8 only with the first matrix transposed (TN).
	Torch         Torch
	TransposedFP8 bool
	// FNUZ is the compute capability of the GPUs that use the FNUZ form of fp8; zero if there are
	// none.
	FNUZ [2]int

	// Stream is the launch configuration that BabelStream uses for the vendor.
	Stream Stream
	// FewThreads is true if a block may have fewer threads than its kernel was compiled for.
	FewThreads bool
}

// Torch describes how PyTorch computes a matrix product. If LT is true, PyTorch uses the first
// choice of LT's heuristics. Otherwise it uses the plain product of BLAS. Workspace is in bytes.
type Torch struct {
	LT        bool
	Workspace int64
}

// Stream describes the launch of a stream kernel. Block is the number of threads per block. If
// Strided is true, each thread handles four elements that are one grid apart.
type Stream struct {
	Block   int
	Strided bool
}

var vendors []Vendor

func register(v Vendor) Vendor { //nolint:unparam // each vendor's file assigns the result to a variable
	v.Root.Backend = v.Backend
	for i := range v.Libraries {
		v.Libraries[i].Backend = v.Backend
	}
	vendors = append(vendors, v)
	slices.SortFunc(vendors, func(a, b Vendor) int { return cmp.Compare(a.Order, b.Order) })
	return v
}

// Vendors returns a copy of the table.
func Vendors() []Vendor { return slices.Clone(vendors) }

// Names returns the names of all backends: first the loopback, then the backends of the vendors.
func Names() []string {
	names := []string{Loopback}
	for _, v := range vendors {
		names = append(names, v.Backend)
	}
	return names
}

// Of returns the row of a backend, and false if the table lacks it.
func Of(backend string) (Vendor, bool) {
	i := slices.IndexFunc(vendors, func(v Vendor) bool { return v.Backend == backend })
	if i < 0 {
		return Vendor{}, false
	}
	return vendors[i], true
}

// Like returns the row of a backend. The loopback imitates the first row, so Like returns the first
// row for it.
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

// Hiding returns the variables of all vendors that hide GPUs.
func Hiding() []string {
	var all []string
	for _, v := range vendors {
		all = append(all, v.Hiding...)
	}
	return all
}

// Tools returns the vendors' tools as text for a hint.
func Tools() string { return Text(" or ", func(v Vendor) string { return v.Tool }) }

// ToolOf returns the tool of a backend's vendor, or all vendors' tools if the backend has no
// vendor.
func ToolOf(backend string) string {
	if v, ok := Of(backend); ok {
		return v.Tool
	}
	return Tools()
}

// Text joins one word per vendor with a separator.
func Text(by string, word func(Vendor) string) string {
	return strings.Join(slice.Map(vendors, word), by)
}

const kernelsLost = "kernels: verification, the delay of isolated timing, memory and kernel benchmarks"
