package stat

import "math"

// Exponent returns the exponent of the power law y = c·x^p through two points: the slope of the line
// between them in log-log coordinates.
func Exponent(x1, y1, x2, y2 float64) float64 { return math.Log(y2/y1) / math.Log(x2/x1) }

// Reaches returns the x at which the power law through two points reaches y. The x may lie outside
// the two points. A flat line is taken to reach y at the second point.
func Reaches(x1, y1, x2, y2, y float64) float64 {
	p := Exponent(x1, y1, x2, y2)
	if !(math.Abs(p) > 1e-9) {
		return x2
	}
	return x1 * math.Exp(math.Log(y/y1)/p)
}
