package collective

import (
	"slices"
	"strings"

	"zbench/bench/base/spell"
)

// Dtype is an element type of the collective libraries.
type Dtype struct {
	// Name is the name that rccl-tests' option -d takes.
	Name string
	// Aliases are other spellings, lower case.
	Aliases []string
	// Size is the width of an element in bytes.
	Size int
	// Does describes the type in one line.
	Does string
	// MovedOnly is true if libraries can move the type but not all of them can reduce it.
	MovedOnly bool
}

// Op is a reduction operator.
type Op struct {
	// Name is the name that rccl-tests' option -o takes.
	Name string
	// Does describes the operator in one line.
	Does string
}

var dtypes = []Dtype{
	{Name: "int8", Size: 1, Does: "signed 8-bit integer"},
	{Name: "uint8", Size: 1, Does: "unsigned 8-bit integer"},
	{Name: "int32", Size: 4, Aliases: []string{"int"}, Does: "signed 32-bit integer"},
	{Name: "uint32", Size: 4, Does: "unsigned 32-bit integer"},
	{Name: "int64", Size: 8, Does: "signed 64-bit integer"},
	{Name: "uint64", Size: 8, Does: "unsigned 64-bit integer"},
	{Name: "half", Size: 2, Aliases: []string{"float16", "fp16"}, Does: "IEEE 754 binary16"},
	{Name: "float", Size: 4, Aliases: []string{"float32", "fp32"}, Does: "IEEE 754 binary32"},
	{Name: "double", Size: 8, Aliases: []string{"float64", "fp64"}, Does: "IEEE 754 binary64"},
	{Name: "bfloat16", Size: 2, Aliases: []string{"bf16"}, Does: "8 exponent bits, 7 mantissa bits"},
	{Name: "f8e4m3", Size: 1, Aliases: []string{"fp8_e4m3", "fp8e4m3"}, Does: "8-bit float, 4 exponent bits; moved, not reduced", MovedOnly: true},
	{Name: "f8e5m2", Size: 1, Aliases: []string{"fp8_e5m2", "fp8e5m2"}, Does: "8-bit float, 5 exponent bits; moved, not reduced", MovedOnly: true},
}

var ops = []Op{
	{"sum", "sum over ranks"},
	{"prod", "product over ranks"},
	{"max", "largest over ranks"},
	{"min", "smallest over ranks"},
	{"avg", "sum over ranks divided by their number"},
	{Mulsum, "sum over ranks of each rank's data times a factor of its own"},
}

// Mulsum is the operator that the library must make for each communicator.
const Mulsum = "mulsum"

// Dtypes returns a copy of the table of element types.
func Dtypes() []Dtype { return slices.Clone(dtypes) }

// Ops returns a copy of the table of operators.
func Ops() []Op { return slices.Clone(ops) }

// DtypeByName finds an element type. The error is a [spell.Unknown].
func DtypeByName(name string) (Dtype, error) {
	return spell.Find("dtype", dtypes, name, func(d Dtype) (string, []string) { return d.Name, d.Aliases })
}

// OpByName finds an operator. The error lists the valid names.
func OpByName(name string) (Op, error) {
	return spell.Find("op", ops, name, func(o Op) (string, []string) { return o.Name, nil })
}

// Every selects the whole table of element types or operators, as in rccl-tests.
const Every = "all"

// DtypesByName reads a list of element types, such as "float,bf16", or [Every]. It returns each
// type once, and the list with the table's names.
func DtypesByName(list string) (types []Dtype, names string, err error) {
	return byNames(list, dtypes, DtypeByName, func(d Dtype) string { return d.Name })
}

// OpsByName reads a list of operators like DtypesByName.
func OpsByName(list string) (all []Op, names string, err error) {
	return byNames(list, ops, OpByName, func(o Op) string { return o.Name })
}

func byNames[T any](list string, table []T, find func(string) (T, error), name func(T) string) (found []T, names string, err error) {
	if strings.EqualFold(list, Every) {
		list = ""
		for _, one := range table {
			list += "," + name(one)
		}
		list = list[1:]
	}
	var words []string
	for given := range strings.SplitSeq(list, ",") {
		one, err := find(given)
		if err != nil {
			return nil, "", err
		}
		if !slices.Contains(words, name(one)) {
			found, words = append(found, one), append(words, name(one))
		}
	}
	return found, strings.Join(words, ","), nil
}

// MarshalText writes the type's name.
func (d Dtype) MarshalText() ([]byte, error) { return []byte(d.Name), nil }

// UnmarshalText finds a type by its name.
func (d *Dtype) UnmarshalText(name []byte) (err error) {
	*d, err = DtypeByName(string(name))
	return err
}
