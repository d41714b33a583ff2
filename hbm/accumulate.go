package hbm

import (
	"encoding/binary"
	"fmt"
	"math"

	"zbench/bench/run/record"
	"zbench/internal/native"
)

// The accumulate family adds narrow gradients to a trainer's float32 gradients.
var _ = Fused{
	Name: "accumulate", order: 3, Files: []string{"accumulate.hip", stepsFile}, Types: normTypes,
	Short: "Gradient accumulation in float32 fused, against separate kernels",
	Long: `Adds gradients of a narrow type to float32 gradients, as a trainer does after
each microbatch, in one pass over memory, and runs the same work as separate
kernels (cast to float32, add). Both are checked against a float64 reference, to
the last bit.

On a GPU the speed is compared with the separate kernels and with a copy of as
many bytes, both from the same run. The minimum memory traffic is rows · hidden
· (size + 8) bytes. The sum is written to another buffer than its input, so each
repeated launch has the same input.`,
	At: func(t Type, rows, hidden int64, role string) FusedCase { return accumulateCase{t, rows, hidden, role} },
}.register()

// accumulateCase adds a matrix of narrow gradients to a matrix of float32 gradients, in one role.
type accumulateCase struct {
	Type         Type
	Rows, Hidden int64
	Role         string
}

// float is the type of the accumulated gradients.
var float = types[0]

func (c accumulateCase) elements() int64 { return c.Rows * c.Hidden }

// Key returns the case's name.
func (c accumulateCase) Key() string {
	return fmt.Sprintf("%s/accumulate/%s/%dx%d", c.Role, c.Type.Name, c.Rows, c.Hidden)
}

// The matrices in the arena: the narrow gradients, the accumulated float32 gradients, their sum,
// and the narrow gradients cast to float32.
const (
	atGradient = iota
	atKept
	atTotal
	atCast
)

func (c accumulateCase) place(u *unit, which int64) native.Address {
	at := int64(0)
	if which > atGradient {
		at = roundUp(c.elements()*c.Type.Bytes, 256) + (which-1)*roundUp(4*c.elements(), 256)
	}
	return native.Address{Buffer: u.arena, Offset: at}
}

// Bytes returns the memory that the case needs, in bytes.
func (c accumulateCase) Bytes() int64 {
	return roundUp(c.elements()*c.Type.Bytes, 256) + 3*roundUp(4*c.elements(), 256)
}

// copied() returns the bytes that the comparison copy moves: half of the fused kernel's minimum
// traffic, because a copy reads and writes each byte.
func (c accumulateCase) copied() int64 {
	return c.elements() * (c.Type.Bytes + 8) / 2 / vector * vector
}

// row returns the known facts of the case before it runs.
func (c accumulateCase) row(u *unit) record.Kernel {
	n, size := c.elements(), c.Type.Bytes
	k := record.Kernel{
		Kernel: "accumulate", Dtype: c.Type.Name, Role: c.Role, Shape: record.Shape{Rows: c.Rows, Cols: c.Hidden}, WorkingSet: n * (size + 8),
		Moved: n * (size + 8), Counting: "least, rows · hidden · (size + 8): gradients and kept gradients read, their sum written",
		Config: record.LaunchConfig{Block: accumulateBlock},
	}
	switch c.Role {
	case record.Unfused:
		k.Moved, k.Counting = n*(size+16), "kernel by kernel: cast reads the gradients and writes float32, addition reads two matrices of float32 and writes one"
	case record.Copy:
		k.Moved, k.Counting, k.Config = 2*c.copied(), "copy: as many bytes as the least, half read and half written", presetConfig()
	}
	k.CacheResident = CacheResident(u.info, k.WorkingSet)
	return k
}

// accumulateBlock is the number of threads per block. Each thread takes 8 elements at once.
const accumulateBlock = 256

// steps returns the launches of the case.
func (c accumulateCase) steps(_ *Driver, u *unit) ([]native.Step, error) {
	n := uint64(c.elements()) //nolint:gosec // positive
	gradient, kept, total, cast := c.place(u, atGradient), c.place(u, atKept), c.place(u, atTotal), c.place(u, atCast)
	launch := grid(min(max(1, c.elements()/(8*accumulateBlock)), 1<<20), accumulateBlock)
	step := func(name string, args ...any) (native.Step, error) {
		f, err := u.modules["accumulate.hip"].Function("zb_accumulate_" + name)
		return native.Step{Function: f, Launch: launch, Args: args}, err
	}
	switch c.Role {
	case record.Copy:
		return copySteps(u, total, gradient, c.copied())
	case record.Fused:
		one, err := step(c.Type.short, total, gradient, kept, n)
		return []native.Step{one}, err
	}
	first, err := step("cast_"+c.Type.short, cast, gradient, n)
	if err != nil {
		return nil, err
	}
	second, err := step(float.short, total, cast, kept, n)
	return []native.Step{first, second}, err
}

// fill makes the inputs, and fills the outputs with NaN.
func (c accumulateCase) fill(d *Driver, u *unit, _ []native.Step) error {
	n := c.elements()
	for which, t := range map[int64]Type{atGradient: c.Type, atKept: float} {
		if err := d.launch(u, stepsFile, "zb_step_fill_"+t.short, grid(min(max(1, n/256), 4096), 256),
			c.place(u, which), uint64(n), uint32(which), d.cfg.Seed); err != nil { //nolint:gosec // not negative
			return err
		}
	}
	for _, which := range []int64{atTotal, atCast} {
		if err := d.launch(u, checkFile, "zb_poison", checkLaunch(n), c.place(u, which), uint64(4*n), ^uint32(0)); err != nil { //nolint:gosec // not negative
			return err
		}
	}
	return d.wait(u)
}

// verify compares a small shape whole, or evenly spaced parts of a large one, with float64. A copy
// is compared with its source.
func (c accumulateCase) verify(d *Driver, u *unit, _ []native.Step) (record.Verified, error) {
	v := verified(0, 0)
	n := c.elements()
	if c.Role == record.Copy {
		n = c.copied() / 4
	}
	const part = 1 << 10
	parts := min((n+part-1)/part, checkedRows)
	for k := range parts {
		first := k * part
		if n > parts*part {
			first = k * (n - part) / max(1, parts-1)
		}
		if err := c.compare(d, u, &v, first, min(part, n-first)); err != nil {
			return v, err
		}
	}
	if *v.Wrong > 0 {
		v.State = record.VerifiedWrong
	}
	return v, nil
}

// compare() checks `count` float32 elements from `first` on, and counts the wrong elements in v.
func (c accumulateCase) compare(d *Driver, u *unit, v *record.Verified, first, count int64) error {
	read := func(which int64) ([]byte, error) {
		raw, at := make([]byte, 4*count), c.place(u, which)
		at.Offset += 4 * first
		return raw, d.p.Read(at, raw)
	}
	got, err := read(atTotal)
	if err != nil {
		return err
	}
	source := []byte(nil)
	if c.Role == record.Copy {
		if source, err = read(atGradient); err != nil {
			return err
		}
	}
	for i := range count {
		at := first + i
		want := math.Float32bits(float32(input(c.Type, d.cfg.Seed, atGradient, at) + input(float, d.cfg.Seed, atKept, at)))
		if source != nil {
			want = binary.LittleEndian.Uint32(source[4*i:])
		}
		have := binary.LittleEndian.Uint32(got[4*i:])
		v.Elements++
		if have == want {
			continue
		}
		*v.Wrong++
		if v.First == nil {
			v.First = &record.WrongElement{Index: at, Expected: fmt.Sprintf("%.9g", math.Float32frombits(want)), Got: fmt.Sprintf("%.9g", math.Float32frombits(have))}
		}
	}
	return nil
}
