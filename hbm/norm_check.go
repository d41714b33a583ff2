package hbm

import (
	"encoding/binary"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	gstat "gonum.org/v1/gonum/stat"

	"zbench/bench/run/record"
	"zbench/internal/native"
)

const (
	// checkedRows is the largest number of rows that are read back. A small shape is checked whole.
	// A large shape is checked at the first row, the last row, and evenly spaced rows between them.
	checkedRows = 64
	// Tolerances of y in units in the last place of its type. In float32 the rounding of the
	// sums is visible; the narrow types hide it except for ties. The separate kernels round
	// three times, and each rounding is multiplied by the later factors.
	fusedULP, fusedULP32, unfusedULP = 1, 64, 8
)

// round rounds a value to the type, to nearest with ties to even.
func round(t Type, v float64) float64 {
	switch t.short {
	case "bf16":
		u := math.Float32bits(float32(v))
		return float64(math.Float32frombits((u + 0x7fff + u>>16&1) &^ 0xffff))
	case "f16":
		if v == 0 {
			return v
		}
		_, e := math.Frexp(v)
		unit := math.Ldexp(1, max(e, -13)-11)
		return math.RoundToEven(v/unit) * unit
	}
	return float64(float32(v))
}

// ulp returns the distance between neighbouring numbers of the type at a value.
func ulp(t Type, v float64) float64 {
	digits, lowest := map[string][2]int{"bf16": {8, -125}, "f16": {11, -13}, "f32": {24, -125}}[t.short], 0
	_, lowest = math.Frexp(v)
	return math.Ldexp(1, max(lowest, digits[1])-digits[0])
}

// decode returns the value of an element's bytes.
func decode(t Type, b []byte) float64 {
	switch t.short {
	case "bf16":
		return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16))
	case "f16":
		return native.HalfValue(binary.LittleEndian.Uint16(b))
	}
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
}

// input() returns element i of a matrix as zb_step_fill makes it.
func input(t Type, seed uint64, which int, i int64) float64 {
	return round(t, value(types[0], seed, uint64(which), uint64(i))) //nolint:gosec // not negative
}

// reference computes one row in float64: the rounded sum, and y before rounding.
func (c NormCase) reference(seed uint64, row int64) (sum, y []float64) {
	n := int(c.Hidden)
	sum, y = make([]float64, n), make([]float64, n)
	if c.Role == record.Copy {
		for i := range sum {
			at := row*c.Hidden + int64(i)
			sum[i], y[i] = input(c.Type, seed, atX, at), input(c.Type, seed, atResidual, at)
		}
		return sum, y
	}
	for i := range sum {
		at := row*c.Hidden + int64(i)
		sum[i] = round(c.Type, float64(float32(input(c.Type, seed, atX, at)+input(c.Type, seed, atResidual, at))))
	}
	mean := 0.0
	copy(y, sum)
	if c.Norm.centred {
		mean = gstat.Mean(sum, nil)
		floats.AddConst(-mean, y)
	}
	floats.Scale(1/math.Sqrt(floats.Dot(y, y)/float64(n)+epsilon), y)
	for i := range y {
		y[i] *= input(c.Type, seed, atWeight, int64(i))
		if c.Norm.centred {
			y[i] += input(c.Type, seed, atBias, int64(i))
		}
	}
	return sum, y
}

// tolerance returns the allowed error of y, in units in the last place.
func (c NormCase) tolerance() float64 {
	switch {
	case c.Role == record.Copy:
		return 0
	case c.Role == record.Unfused:
		return unfusedULP
	case c.Type.Bytes == 4:
		return fusedULP32
	}
	return fusedULP
}

// verify reads rows back and compares them with the reference.
func (c NormCase) verify(d *Driver, u *unit, _ []native.Step) (record.Verified, error) {
	v := verified(0, 0)
	v.ULP = new(float64)
	rows := min(c.Rows, checkedRows)
	for k := range rows {
		row := k
		if c.Rows > rows {
			row = k * (c.Rows - 1) / (rows - 1)
		}
		sum, err := d.row(u, c, atSum, row)
		if err != nil {
			return v, err
		}
		y, err := d.row(u, c, atY, row)
		if err != nil {
			return v, err
		}
		wantSum, wantY := c.reference(d.cfg.Seed, row)
		c.compare(&v, row, sum, y, wantSum, wantY)
	}
	if c.Role == record.Copy {
		v.ULP = nil // a copy is compared for equal bits
	}
	if *v.Wrong > 0 {
		v.State = record.VerifiedWrong
	}
	return v, nil
}

// compare compares a row and counts the wrong elements in v. The sum must be equal in every bit; y
// must be within the tolerance. With a bias the tolerance is at least the tolerance at the value 1:
// if the bias cancels most of the product, the difference cannot be more exact than the product
// was.
func (c NormCase) compare(v *record.Verified, row int64, sum, y, wantSum, wantY []float64) {
	for i := range sum {
		v.Elements++
		scale := math.Abs(wantY[i])
		if c.Norm.centred {
			scale = max(scale, 1)
		}
		off := math.Abs(y[i]-round(c.Type, wantY[i])) / ulp(c.Type, scale)
		what, got, want := "", 0.0, 0.0
		switch {
		case math.Float64bits(sum[i]) != math.Float64bits(wantSum[i]): // -0 differs from 0
			what, got, want = "sum", sum[i], wantSum[i]
		case !(off <= c.tolerance()):
			what, got, want = "y", y[i], wantY[i]
		}
		*v.ULP = max(*v.ULP, off)
		if what == "" {
			continue
		}
		*v.Wrong++
		if v.First == nil {
			v.First = &record.WrongElement{
				Index: row*c.Hidden + int64(i), Expected: fmt.Sprintf("%s %.9g", what, want), Got: fmt.Sprintf("%.9g", got),
			}
		}
	}
	if math.IsNaN(*v.ULP) || math.IsInf(*v.ULP, 0) {
		*v.ULP = 0 // the element already counts as wrong, and JSON has no NaN or infinity
	}
}

func (d *Driver) row(u *unit, c NormCase, which int, row int64) ([]float64, error) {
	raw := make([]byte, c.Hidden*c.Type.Bytes)
	at := c.place(u, which)
	at.Offset += row * c.Hidden * c.Type.Bytes
	if err := d.p.Read(at, raw); err != nil {
		return nil, err
	}
	out := make([]float64, c.Hidden)
	for i := range out {
		out[i] = decode(c.Type, raw[int64(i)*c.Type.Bytes:])
	}
	return out, nil
}
