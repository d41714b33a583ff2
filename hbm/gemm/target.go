package gemm

import (
	"fmt"
	"math/rand/v2"

	"zbench/bench/base/unit"
	"zbench/bench/hardware/matrix"
	"zbench/bench/run/record"
	method "zbench/bench/work/gemm"
	"zbench/internal/native"
)

// target is a shape with a type.
type target struct {
	shape method.Shape
	dtype string
}

// kind is an element type with the forms that the library and the check use.
type kind struct {
	in, out         *matrix.Number
	element, result native.Element
}

// kindOf returns the forms of a type on this GPU, with the fp8 type that the GPU supports.
func (d *Driver) kindOf(dtype string) kind {
	of := func(in, out string, element, result native.Element) kind {
		return kind{matrix.NumberOf(in), matrix.NumberOf(out), element, result}
	}
	switch dtype {
	case method.FP16:
		return of(matrix.FP16, matrix.FP16, native.FP16, native.FP16)
	case method.F32:
		return of(matrix.F32, matrix.F32, native.F32, native.F32)
	case method.FP8:
		if d.fnuz {
			return of(matrix.FP8FNUZ, matrix.BF16, native.FP8FNUZ, native.BF16)
		}
		return of(matrix.FP8, matrix.BF16, native.FP8, native.BF16)
	}
	return of(matrix.BF16, matrix.BF16, native.BF16, native.BF16)
}

// transposed() reports whether the library takes the type only in layout TN. The operands are then
// transposed in memory beforehand.
func (d *Driver) transposed(dtype string) bool {
	return dtype == method.FP8 && d.vendor().TransposedFP8
}

// runs() returns the shape in the layout that the library runs.
func (d *Driver) runs(t target) method.Shape {
	if d.transposed(t.dtype) {
		t.shape.Layout = method.TN
	}
	return t.shape
}

// places holds the layout of the operands in the arena: the sizes of A, B and C, and the size and
// number of sets.
type places struct {
	a, b, c [2]int64 // elements and bytes of an operand of the whole batch
	set     int64    // bytes of a set
	sets    int
}

func aligned(bytes int64) int64 { return (bytes + 4095) / 4096 * 4096 }

// place lays out the sets of operands. Together they are at least twice as large as the last-level
// cache, as far as memory allows.
func (d *Driver) place(s method.Shape, k kind) (places, error) {
	var p places
	a, b, c := s.Sides()
	for i, sides := range [][2]int64{a, b, c} {
		size := int64(k.in.Bytes)
		if i == 2 {
			size = int64(k.out.Bytes)
		}
		of := [2]int64{sides[0] * sides[1] * s.Batch, sides[0] * sides[1] * s.Batch * size}
		*[]*[2]int64{&p.a, &p.b, &p.c}[i] = of
		p.set += aligned(of[1]) + 4096 // the operands do not start a power of two apart
	}
	free := int64(1) << 62
	for _, u := range d.units {
		f, _, err := d.p.Memory(u.info.Index)
		if err != nil {
			return p, err
		}
		free = min(free, f+u.arena.Bytes)
	}
	if p.set > free*9/10 {
		return p, fmt.Errorf("%w: it needs %s, and the device has %s free", ErrMemory, unit.Bytes(p.set), unit.Bytes(free))
	}
	p.sets = int(min(64, max(2, 2*d.units[0].info.Cache/p.set+1), max(1, free*9/10/p.set)))
	return p, nil
}

// enter writes a target's operands onto the devices. On the loopback only the operands of the
// reduced shape are written, because timed launches touch no data there.
func (d *Driver) enter(t target) (places, error) {
	k := d.kindOf(t.dtype)
	s := d.checked(t)
	if !d.p.Simulated {
		s = d.runs(t)
	}
	p, err := d.place(s, k)
	if d.p.Simulated {
		p.sets = 1
	}
	if err != nil || d.entered && d.at == t {
		return p, err
	}
	d.entered = false
	for _, u := range d.units {
		if need := p.set * int64(p.sets); u.arena.Bytes < need {
			if u.arena.Bytes > 0 {
				if err := d.p.Free(u.arena); err != nil {
					return p, err
				}
			}
			u.arena = native.Buffer{}
			if u.arena, err = d.p.Alloc(u.info.Index, need); err != nil {
				return p, err
			}
		}
		for set := range p.sets {
			for operand, bytes := range []int64{p.a[1], p.b[1]} {
				if err := d.fill(p.at(u, set, operand), bytes, d.block(k.in, operand, bytes)); err != nil {
					return p, err
				}
			}
		}
	}
	d.at, d.entered = t, true
	return p, nil
}

// at() returns the start of an operand in a set. Operands 0, 1 and 2 are A, B and C.
func (p places) at(u *gpu, set, operand int) native.Address {
	offset := int64(set) * p.set
	if operand > 0 {
		offset += aligned(p.a[1])
	}
	if operand > 1 {
		offset += aligned(p.b[1])
	}
	return native.Address{Buffer: u.arena, Offset: offset}
}

// period is the number of normally distributed numbers drawn per operand; longer operands repeat
// them. It is prime, so that no two rows of a matrix are equal.
const period = 1048573

// block returns the bytes of a period, or its beginning if the operand is smaller. The numbers are
// random because zeros would draw less power and run faster than training data.
func (d *Driver) block(n *matrix.Number, operand int, size int64) []byte {
	key, most := fmt.Sprint(n.Name, operand), min(int(size), period*n.Bytes)
	if len(d.blocks[key]) < most {
		rng := rand.New(rand.NewPCG(d.cfg.Seed, uint64(operand))) //nolint:gosec // test data
		raw := make([]byte, most)
		for i := 0; i < most; i += n.Bytes {
			n.Put(raw[i:], rng.NormFloat64())
		}
		d.blocks[key] = raw
	}
	return d.blocks[key]
}

// fill fills `size` bytes with repetitions of a block.
func (d *Driver) fill(to native.Address, size int64, block []byte) error {
	for at := int64(0); at < size; at += int64(len(block)) {
		part := block[:min(int64(len(block)), size-at)]
		if err := d.p.Write(native.Address{Buffer: to.Buffer, Offset: to.Offset + at}, part); err != nil {
			return err
		}
	}
	return nil
}

// row returns the known facts of an entry before it runs.
func (d *Driver) row(t target, e entry, p places) record.Kernel {
	s := d.runs(t)
	name := s.Name
	if s.Pass != "" {
		name = s.Pass + " " + s.Name
	}
	k := record.Kernel{
		Kernel: method.Kernel, Role: e.role, Library: e.library, Dtype: t.dtype, Counting: "least, each operand read once, the result written once",
		Shape:  record.Shape{Name: name, Rows: s.M, Cols: s.N, Depth: s.K, Layout: t.shape.Layout, Batch: s.Batch, Measured: s.Batch, Count: s.Count},
		Config: record.LaunchConfig{Choice: e.choice + 1, Workspace: e.workspace},
		Moved:  p.a[1] + p.b[1] + p.c[1], Effective: s.Flop(), Executed: s.Flop(),
	}
	if e.role == record.Vendor {
		k.Config.Choice = 0
	}
	k.WorkingSet = k.Moved * int64(p.sets)
	k.CacheResident = k.WorkingSet < 2*d.units[0].info.Cache
	return k
}
