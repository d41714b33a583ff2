package hbm

import (
	"cmp"
	"slices"
	"strings"
)

// Family is a fused kernel with what it is compared with: a command of "zbench
// kernels". Each is a file of its own, which registers it; nothing else needs to know.
type Family struct {
	// Name is the command's, Short and Long are its help.
	Name, Short, Long string
	// order is its place in the listings.
	order int
	// Files are the sources of its kernels, and of what makes its inputs.
	Files []string
	// Types are its element types, the default first.
	Types []Type
	// At is the case of a shape in a role: record.Fused, Unfused or Copy.
	At func(t Type, rows, hidden int64, role string) FusedCase
}

// FusedCase is a fused kernel of one shape, or what it is compared with.
type FusedCase interface {
	kernelCase
	// Bytes is the memory it needs.
	Bytes() int64
}

var families []Family

// register adds a family. Its result serves a declaration in the family's own file.
func register(f Family) bool { //nolint:unparam // a variable takes it
	families = append(families, f)
	slices.SortFunc(families, func(a, b Family) int { return cmp.Compare(a.order, b.order) })
	return true
}

// Families lists the fused kernels.
func Families() []Family { return slices.Clone(families) }

// FamilyByName finds one.
func FamilyByName(name string) (Family, bool) {
	i := slices.IndexFunc(families, func(f Family) bool { return f.Name == name })
	if i < 0 {
		return Family{}, false
	}
	return families[i], true
}

// TypeNames lists the names of its element types.
func (f Family) TypeNames() []string {
	var names []string
	for _, t := range f.Types {
		names = append(names, t.Name)
	}
	return names
}

// TypeByName finds one of its element types, also by the names of kernels.
func (f Family) TypeByName(name string) (Type, bool) {
	name = strings.ToLower(name)
	for _, t := range f.Types {
		if name == t.Name || name == t.short || name == "half" && t.short == "f16" {
			return t, true
		}
	}
	return Type{}, false
}
