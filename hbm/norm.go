package hbm

import (
	"fmt"

	"zbench/bench/run/record"
	"zbench/internal/native"
)

// Norm is one of the norms, RMSNorm or LayerNorm.
type Norm struct {
	// Name is the name of the command; `kind` is the norm's part of the kernels' names.
	Name, kind string
	// `centred` is true if the mean is subtracted and a bias added, as in LayerNorm.
	centred bool
}

var norms = []Norm{{"rmsnorm", "rms", false}, {"layernorm", "layer", true}}

// Both norms register a family of the same form.
var (
	_ = norms[0].family(1).register()
	_ = norms[1].family(2).register()
)

func (n Norm) family(order int) Fused {
	return Fused{
		Name: n.Name, order: order, Files: []string{"norm.hip", stepsFile}, Types: normTypes,
		Short: "Residual addition and " + n.Name + " fused, against separate kernels",
		Long: `Adds x and its residual, normalises the rows of the sum and applies the weights
in one pass over memory with the rows in registers, and runs the same work as
separate kernels (add, statistics, normalise, affine). Both are checked against
a float64 reference: the sum to the last bit, the result to one unit in the last
place.

On a GPU the speed is compared with the separate kernels and with a copy of as
many bytes, both from the same run. The minimum memory traffic is 4 · rows ·
hidden · size + weights bytes.`,
		At: func(t Type, rows, hidden int64, role string) FusedCase { return NormCase{n, t, rows, hidden, role} },
	}
}

// normTypes are the element types of the norms.
var normTypes = []Type{{"bfloat16", 2, "bf16", 9}, {"float16", 2, "f16", 6}, {"float32", 4, "f32", 7}}

// MaxHidden is the largest number of elements in a row.
const MaxHidden = 65536

// epsilon is added to the mean of squares; large models use this value.
const epsilon = 1e-5

// NormCase is a norm of one shape, in one role.
type NormCase struct {
	Norm         Norm
	Type         Type
	Rows, Hidden int64
	Role         string // Fused, Unfused or Copy
}

// Key returns the case's name.
func (c NormCase) Key() string {
	return fmt.Sprintf("%s/%s/%s/%dx%d", c.Role, c.Norm.Name, c.Type.Name, c.Rows, c.Hidden)
}

// weights returns the number of row-long vectors that are read: the weight, and for LayerNorm the
// bias.
func (n Norm) weights() int64 {
	if n.centred {
		return 2
	}
	return 1
}

// moved() returns the minimum traffic in bytes and its definition. x and residual are read, the sum
// and y are written, and the weights are read once. For separate kernels the reads and writes of
// all of them are added.
func (c NormCase) moved() (int64, string) {
	e := c.Rows * c.Hidden * c.Type.Bytes
	w := c.Norm.weights() * c.Hidden * c.Type.Bytes
	if c.Role == record.Copy {
		return 4 * c.matrix(), "copy: as many bytes as x and residual, read once and written once"
	}
	if c.Role == record.Unfused {
		return 8*e + w + 16*c.Rows, "kernel by kernel: add 3, statistics 1, normalise 2, affine 2 matrices, weights and statistics"
	}
	return 4*e + w, "least, 4 · rows · hidden · size + weights: x and residual read, their sum and y written, weights read once"
}

// Bytes returns the memory that the case needs, in bytes.
func (c NormCase) Bytes() int64 {
	return 4*c.Rows*c.Hidden*c.Type.Bytes + 2*MaxHidden*8 + 8*c.Rows + 8*256
}

// The matrices and vectors of a norm in the arena.
const (
	atX = iota
	atResidual
	atSum
	atY
	atWeight
	atBias
	atStats
)

// matrix returns the space of one matrix in the arena, in bytes.
func (c NormCase) matrix() int64 { return roundUp(c.Rows*c.Hidden*c.Type.Bytes, 256) }

// place returns the start of a matrix or vector of the case.
func (c NormCase) place(u *unit, which int) native.Address {
	e := c.matrix()
	w := roundUp(c.Hidden*c.Type.Bytes, 256)
	at := int64(min(which, atWeight)) * e
	if which > atWeight {
		at += int64(which-atWeight) * w
	}
	return native.Address{Buffer: u.arena, Offset: at}
}

// AllocateBytes reserves an arena of the given size in bytes on every device.
func (d *Driver) AllocateBytes(bytes int64) error {
	for _, u := range d.units {
		var err error
		if u.arena, err = d.p.Alloc(u.info.Index, bytes); err != nil {
			return err
		}
	}
	return nil
}

func grid(blocks, block int64) native.Launch {
	return native.Launch{Grid: [3]uint32{uint32(blocks), 1, 1}, Block: [3]uint32{uint32(block), 1, 1}} //nolint:gosec // checked by the caller
}

// steps returns the launches of the case.
func (c NormCase) steps(_ *Driver, u *unit) ([]native.Step, error) {
	hidden, rows := uint32(c.Hidden), uint64(c.Rows) //nolint:gosec // positive
	at := func(which int) native.Address { return c.place(u, which) }
	suffix := fmt.Sprintf("%s_%d", c.Type.short, c.wide())
	if c.Role == record.Copy {
		return copySteps(u, at(atSum), at(atX), 2*c.matrix()) // x and residual are adjacent
	}
	if c.Role == record.Fused {
		way, block, each := c.way(u.wave, u.few)
		f, err := u.modules["norm.hip"].Function(fmt.Sprintf("zb_%snorm_%s_%s", c.Norm.kind, suffix, way))
		return []native.Step{{
			Function: f, Launch: grid((c.Rows+each-1)/each, block),
			Args: []any{at(atSum), at(atY), at(atX), at(atResidual), at(atWeight), at(atBias), rows, hidden, float32(epsilon)},
		}}, err
	}
	centred, bias := int32(0), any(uint64(0))
	if c.Norm.centred {
		centred, bias = 1, at(atBias)
	}
	const block = 256
	all := []struct {
		name   string
		launch native.Launch
		args   []any
	}{
		{"add", grid(min(max(1, c.Rows*c.Hidden/(8*block)), 1<<20), block), []any{at(atSum), at(atX), at(atResidual), rows * uint64(hidden)}},
		{"stats", grid(c.Rows, block), []any{at(atStats), at(atSum), hidden, float32(epsilon), centred}},
		{"apply", grid(c.Rows, block), []any{at(atY), at(atSum), at(atStats), hidden}},
		{"affine", grid(c.Rows, block), []any{at(atY), at(atWeight), bias, hidden}},
	}
	var out []native.Step
	for _, s := range all {
		f, err := u.modules[stepsFile].Function("zb_step_" + s.name + "_" + suffix)
		if err != nil {
			return nil, err
		}
		out = append(out, native.Step{Function: f, Launch: s.launch, Args: s.args})
	}
	return out, nil
}

// copySteps returns the copy that a fused kernel is compared with: the copy stream in its own
// configuration, over the given number of bytes.
func copySteps(u *unit, to, from native.Address, bytes int64) ([]native.Step, error) {
	s, _ := StreamByName("copy")
	stream := Case{Stream: s, Type: types[0], Config: presetConfig(), Array: bytes}
	f, err := u.modules[streamFile].Function(stream.kernel())
	l := launchOf(stream.Config, stream.Type, stream.elements(), u.info.Units)
	return []native.Step{{
		Function: f, Launch: l.Launch,
		Args: []any{to, from, from, scalar, uint64(stream.elements()), uint64(l.tiles), uint64(l.run), u.sums}, //nolint:gosec // not negative
	}}, err
}

// row returns the known facts of the case before it runs.
func (c NormCase) row(u *unit) record.Kernel {
	moved, counting := c.moved()
	k := record.Kernel{
		Kernel: c.Norm.Name, Dtype: c.Type.Name, Role: c.Role, Shape: record.Shape{Rows: c.Rows, Cols: c.Hidden},
		Moved: moved, Counting: counting, WorkingSet: 4 * c.Rows * c.Hidden * c.Type.Bytes,
	}
	switch c.Role {
	case record.Fused:
		_, block, _ := c.way(u.wave, u.few)
		k.Config.Block = int(block)
	case record.Copy:
		k.Config = presetConfig()
	}
	k.CacheResident = CacheResident(u.info, k.WorkingSet)
	return k
}

// fill makes inputs and weights, and fills the outputs with NaN.
func (c NormCase) fill(d *Driver, u *unit, _ []native.Step) error {
	n := c.Rows * c.Hidden
	for which, count := range map[int]int64{atX: n, atResidual: n, atWeight: c.Hidden, atBias: c.Hidden} {
		if err := d.launch(u, stepsFile, "zb_step_fill_"+c.Type.short, grid(min(max(1, count/256), 4096), 256),
			c.place(u, which), uint64(count), uint32(which), d.cfg.Seed); err != nil { //nolint:gosec // not negative
			return err
		}
	}
	for _, which := range []int{atSum, atY} {
		if err := d.launch(u, checkFile, "zb_poison", checkLaunch(n), c.place(u, which), uint64(n*c.Type.Bytes), ^uint32(0)); err != nil { //nolint:gosec // not negative
			return err
		}
	}
	return d.wait(u)
}
