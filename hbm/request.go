package hbm

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/plan"
	"zbench/bench/record"
	"zbench/bench/spec"
	"zbench/bench/spell"
	"zbench/bench/stat"
	units "zbench/bench/unit"
)

// Bounds of a request: the smallest array of a stream in bytes, one vector, and the most
// rows of a fused kernel's matrix.
const (
	MinArray = 16
	MaxRows  = 1 << 30
)

// DataKinds are what the arrays of streams can hold.
var DataKinds = []string{"random", "zeros"}

// ErrRequest is wrapped by errors of requests that the device has no memory for.
var ErrRequest = errors.New("too large for the device")

// Check refuses a request of the streams or of a family that names what they do not have.
// Names get zbench's spelling.
func Check(benchmark string, k *spec.Kernels) error {
	if benchmark == spec.HBM {
		return checkStreams(k)
	}
	f, ok := FamilyByName(benchmark)
	if !ok {
		return &spell.Unknown{Kind: "benchmark", Given: benchmark, Valid: append([]string{spec.HBM}, familyNames()...)}
	}
	if err := known(k.Dtypes, "dtype", f.TypeNames(), func(n string) (string, bool) { t, ok := f.TypeByName(n); return t.Name, ok }); err != nil {
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

func checkStreams(k *spec.Kernels) error {
	switch {
	case k.Data != "" && !slices.Contains(DataKinds, k.Data):
		return &spell.Unknown{Kind: "data", Given: k.Data, Valid: DataKinds}
	case k.Size != 0 && k.Size < MinArray:
		return fmt.Errorf("size is %d: an array has at least %d B", k.Size, MinArray)
	}
	if err := known(k.Dtypes, "dtype", TypeNames(), func(n string) (string, bool) { t, ok := TypeByName(n); return t.Name, ok }); err != nil {
		return err
	}
	if len(k.Streams) == 0 {
		return nil // all
	}
	return known(k.Streams, "stream", StreamNames(), func(n string) (string, bool) { s, ok := StreamByName(n); return s.Name, ok })
}

// known brings names to their own spelling; there must be one at least.
func known(names []string, kind string, valid []string, byName func(string) (string, bool)) error {
	if len(names) == 0 {
		return fmt.Errorf("%ss is empty: valid are %s", kind, strings.Join(valid, ", "))
	}
	for i, given := range names {
		own, ok := byName(given)
		if !ok {
			return &spell.Unknown{Kind: kind, Given: given, Valid: valid}
		}
		names[i] = own
	}
	return nil
}

func familyNames() []string {
	var names []string
	for _, f := range families {
		names = append(names, f.Name)
	}
	return names
}

// Planning is what a request measures: rows of the record, and the jobs that measure them.
type Planning struct {
	Rows []record.Kernel
	Jobs []plan.Job
	// More are rows that follow from what was measured; nil where none do.
	More func(*record.Record) ([]record.Kernel, []plan.Job)
}

func (p *Planning) add(d *Driver, c kernelCase, rule stat.Rule) {
	p.Rows, p.Jobs = append(p.Rows, d.Planned(c)...), append(p.Jobs, d.Job(c, rule))
}

// Plan plans a checked request on the open devices and reserves their memory. It fills in
// what the request leaves open: the streams, the size of arrays, the rows of a matrix.
func (d *Driver) Plan(benchmark string, k *spec.Kernels, rule stat.Rule) (*Planning, error) {
	if f, fused := FamilyByName(benchmark); fused {
		return d.planFused(f, k, rule)
	}
	return d.planStreams(k, rule)
}

// planFused plans all shapes in all roles.
func (d *Driver) planFused(f Family, k *spec.Kernels, rule stat.Rule) (*Planning, error) {
	if k.Rows == 0 {
		k.Rows = 8
		if d.Devices()[0].Kind == record.GPU {
			k.Rows = 32768
		}
	}
	p, most := &Planning{}, int64(0)
	for _, dtype := range k.Dtypes {
		t, _ := f.TypeByName(dtype)
		for _, h := range k.Hidden {
			for _, role := range []string{record.Fused, record.Unfused, record.Copy} {
				c := f.At(t, int64(k.Rows), int64(h), role)
				most = max(most, c.Bytes())
				p.add(d, c, rule)
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
