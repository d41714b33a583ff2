package muon

import (
	"fmt"
	"math"

	"zbench/bench/hardware/matrix"
	"zbench/bench/run/record"
	method "zbench/bench/work/muon"
)

// before() makes the inputs of the products and checks each element of the first and the last
// matrix: first the cast momentum, then the scaled matrix and its transpose.
func (w *Work) before() ([]record.Check, error) {
	bar := record.Deviation{Max: 1}
	cast := record.Check{Shape: w.shape.String(), What: whole(method.Prepare), Bar: bar}
	scaled := record.Check{Shape: w.shape.String(), What: whole(transpose), Bar: bar}
	if err := w.castAgainst(&cast); err != nil {
		return nil, err
	}
	if err := w.scaledAgainst(&scaled); err != nil {
		return nil, err
	}
	return []record.Check{cast, scaled}, nil
}

// castAgainst runs the pass over gradient and momentum and compares its bf16 result with float64.
func (w *Work) castAgainst(c *record.Check) error {
	n := w.shape.Rows * w.shape.Cols
	var gradients, momenta [][]float32
	for _, k := range w.ends() {
		g, err := w.floatsAt(w.list[k].Gradient, n)
		if err != nil {
			return err
		}
		m, err := w.floatsAt(w.list[k].Momentum, n)
		if err != nil {
			return err
		}
		gradients, momenta = append(gradients, g), append(momenta, m)
	}
	if err := w.d.run(w.Before()[:2]...); err != nil {
		return err
	}
	for at, k := range w.ends() {
		h, err := w.cast(k)
		if err != nil {
			return err
		}
		note(c, k, h.Against(func(i, j int) (want, slack float64) {
			g, m := float64(gradients[at][i*w.shape.Cols+j]), float64(momenta[at][i*w.shape.Cols+j])
			m += (1 - Momentum) * (g - m)
			return g + Momentum*(m-g), 0x1p-21 * (math.Abs(g) + math.Abs(m))
		}))
	}
	return nil
}

// scaledAgainst scales and transposes the cast matrix and checks both results. The tolerance of the
// norm is the error of a float sum.
func (w *Work) scaledAgainst(c *record.Check) error {
	var casts []matrix.Half
	for _, k := range w.ends() {
		h, err := w.cast(k)
		if err != nil {
			return err
		}
		casts = append(casts, h)
	}
	if err := w.d.run(w.Before()[2:]...); err != nil {
		return err
	}
	for at, k := range w.ends() {
		h, err := w.cast(k)
		if err != nil {
			return err
		}
		inverse, err := w.floatsAt(uint64(w.inverse)+4*uint64(k), 1) //nolint:gosec // offsets are not negative
		if err != nil {
			return err
		}
		want := 1 / (casts[at].Norm()*w.d.cfg.Coefficients.Safety + method.Epsilon)
		by := float64(inverse[0])
		if !(math.Abs(by-want) <= normSlack*want) {
			c.Worst(record.Deviation{Max: math.Inf(1)})
			c.Pattern, c.Note = record.PatternTiles, fmt.Sprintf("matrix %d: it is scaled by %.6g, must be %.6g", k, by, want)
			continue
		}
		note(c, k, h.Against(func(i, j int) (float64, float64) {
			v := casts[at].At(i, j) * by
			return v, 0x1p-22 * math.Abs(v)
		}))
		flipped, err := w.read(int64(w.list[k].Flipped), w.shape.Cols, w.shape.Rows) //nolint:gosec // an offset
		if err != nil {
			return err
		}
		if differ := h.NotTransposeOf(flipped); differ > 0 {
			c.Worst(record.Deviation{Max: math.Inf(1)})
			c.Pattern, c.Note = record.PatternTiles, fmt.Sprintf("matrix %d: %d elements differ from its transpose", k, differ)
		}
	}
	return nil
}

// normSlack is the tolerance of a matrix's norm, a float sum of 2^32 squares in blocks.
const normSlack = 3e-5

// cast reads the k-th matrix from the buffer of the cast, which the scaling overwrites.
func (w *Work) cast(k int) (matrix.Half, error) {
	return w.read(int64(w.list[k].Cast), w.shape.Rows, w.shape.Cols) //nolint:gosec // an offset
}

// note adds the errors of the k-th matrix to a check.
func note(c *record.Check, k int, w matrix.Wrong) {
	c.Worst(record.Deviation{Max: w.Worst})
	if w.Worst > 1 && c.Pattern == "" {
		c.Pattern, c.Note = patternOf(w), fmt.Sprintf("matrix %d: %s", k, w.Text())
	}
}
