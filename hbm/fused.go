package hbm

import (
	"errors"
	"fmt"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/base/spell"
	"zbench/bench/base/stat"
	units "zbench/bench/base/unit"
	"zbench/bench/engine"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/bench/work/kernel"
)

// Fused is a fused kernel over the rows of a matrix, with the alternatives for comparison.
type Fused struct {
	// Name is the name of the command; Short and Long are its help.
	Name, Short, Long string
	// order is its position in listings.
	order int
	// Files are the sources of the kernels and of the kernels that fill their inputs.
	Files []string
	// Types are the valid element types. The first one is the default.
	Types []Type
	// At returns the case of a shape in a role: record.Fused, record.Unfused or record.Copy.
	At func(t Type, rows, hidden int64, role string) FusedCase
	// A family with a display of its own describes it in `own`. Otherwise rows are displayed as
	// bandwidths.
	own kernel.Family
}

// FusedCase is a fused kernel of one shape. It can also be the separate kernels or the copy with
// which the fused kernel is compared.
type FusedCase interface {
	kernelCase
	// Bytes returns the memory that the case needs, in bytes.
	Bytes() int64
}

// register adds a fused kernel to the families.
func (f Fused) register() Family { //nolint:unparam // a variable takes it
	most := []string{"rows", "hidden", "dtype", "device", "max-time", "out", "format"}
	own := f.own
	own.Name, own.Order, own.Short, own.MaxTime, own.Most, own.MostSearched = f.Name, f.order, f.Short, "1", most, most
	own.Long = f.Long + `

Without a GPU results are checked and nothing is timed: the loopback runs
kernels thread by thread, so choose small shapes.`
	own.Example = "  zbench kernels " + f.Name + "\n  zbench kernels " + f.Name + " --rows 16384 --hidden 4096,8192 --dtype bfloat16"
	own.Settings = []kernel.Setting{
		{
			Name: "rows", Unit: "int", Meaning: "rows, as tokens (default 32,768 on a GPU, 8 without)",
			Value: kernel.UpTo(MaxRows, "a matrix has 1 to %d rows", false, func(k *spec.Kernels) *int { return &k.Rows }),
		},
		{
			Name: "hidden", Unit: "ints", Default: "1024,4096,8192,16384", Meaning: "elements of a row, 1 to 65,536",
			Value: kernel.AllUpTo(MaxHidden, "a row has 1 to %d elements", func(k *spec.Kernels) *[]int { return &k.Hidden }),
		},
		dtypeSetting(f.TypeNames()[:1], f.TypeNames(), f.TypeByName),
	}
	own.Check = f.check
	return Register(Family{Family: kernel.Register(own), Open: func(o Opening) (*engine.Kernels, error) {
		return o.open(f.Files, "choose fewer --rows or a smaller --hidden", func(d *Driver) (*engine.Kernels, error) { return d.planFused(f, o.Spec.Kernels, o.Rule) })
	}})
}

func (f Fused) check(k *spec.Kernels) error {
	if err := known(k.Dtypes, "dtype", f.TypeNames(), f.TypeByName); err != nil {
		return err
	}
	if len(k.Hidden) == 0 {
		return errors.New("hidden is empty: give at least one number of elements of a row")
	}
	for _, h := range k.Hidden {
		if h < 1 || h > MaxHidden {
			return fmt.Errorf("hidden has %d: a row has 1 to %d elements", h, MaxHidden)
		}
	}
	if k.Rows > MaxRows {
		return fmt.Errorf("rows is %d: a matrix has 1 to %d rows", k.Rows, MaxRows)
	}
	return nil
}

// TypeNames lists the names of the kernel's element types.
func (f Fused) TypeNames() []string {
	return slice.Map(f.Types, func(t Type) string { return t.Name })
}

// TypeByName finds an element type of the kernel by its name or by its abbreviation in the kernels'
// names.
func (f Fused) TypeByName(name string) (Type, bool) {
	name = strings.ToLower(name)
	for _, t := range f.Types {
		if name == t.Name || name == t.short || name == "half" && t.short == "f16" {
			return t, true
		}
	}
	return Type{}, false
}

// planFused plans all shapes in all roles.
func (d *Driver) planFused(f Fused, k *spec.Kernels, rule stat.Rule) (*engine.Kernels, error) {
	if k.Rows == 0 {
		k.Rows = 8
		if d.Devices()[0].Kind == record.GPU {
			k.Rows = 32768
		}
	}
	p, most := &engine.Kernels{}, int64(0)
	for _, dtype := range k.Dtypes {
		t, _ := f.TypeByName(dtype)
		for _, h := range k.Hidden {
			for _, role := range []string{record.Fused, record.Unfused, record.Copy} {
				c := f.At(t, int64(k.Rows), int64(h), role)
				most = max(most, c.Bytes())
				d.add(p, c, rule)
			}
		}
	}
	free, err := d.Free()
	switch {
	case err != nil:
		return nil, err
	case most > free-free/10:
		return nil, fmt.Errorf("%w: %d rows need %s, and the device has %s free", ErrRequest, k.Rows, units.Bytes(most), units.Bytes(free))
	}
	return p, d.AllocateBytes(most)
}

// dtypeSetting returns the setting --dtype. `usual` are the default types; `valid` are the
// allowed types.
func dtypeSetting(usual, valid []string, byName func(string) (Type, bool)) kernel.Setting {
	return kernel.Setting{
		Name: "dtype", Unit: "names", Default: strings.Join(usual, ","), Meaning: "element types: " + strings.Join(valid, ", "),
		Value: kernel.Names(func(k *spec.Kernels) *[]string { return &k.Dtypes }, func(name string) (string, error) {
			t, ok := byName(name)
			if !ok {
				return "", &spell.Unknown{Kind: "--dtype", Given: name, Valid: valid}
			}
			return t.Name, nil
		}),
	}
}
