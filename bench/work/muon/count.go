package muon

// A Product is one of the three products of a Newton–Schulz step.
type Product int

// The products of a step, with m the short and n the long side.
const (
	Gram   Product = iota // A = X·Xᵀ: m x m, depth n
	Square                // B = b·A + c·A²: m x m, depth m
	Apply                 // X = a·X + B·X: m x n, depth m
)

// Products lists them in the order of a step.
func Products() []Product { return []Product{Gram, Square, Apply} }

// String is the formula.
func (p Product) String() string {
	return [...]string{"X·Xᵀ", "bA + cA²", "aX + BX"}[p]
}

// Symmetric reports whether one triangle of tiles is enough.
func (p Product) Symmetric() bool { return p != Apply }

// Dims returns the product's rows, columns and depth for a shape.
func (p Product) Dims(s Shape) (rows, cols, depth int) {
	m, n := s.Short(), s.Long()
	switch p {
	case Gram:
		return m, m, n
	case Square:
		return m, m, m
	default:
		return m, n, m
	}
}

// Effective returns the floating-point operations of one product of one matrix by definition: two
// for each of rows · columns · depth. Rates that are compared with others' use it, whatever was
// left out.
func (p Product) Effective(s Shape) float64 {
	m, n, k := p.Dims(s)
	return 2 * float64(m) * float64(n) * float64(k)
}

// Depth is the factor of the kernels' depth.
const Depth = 32

// Blocks returns the number of tiles of a product: T(T+1)/2 of a triangle.
func (p Product) Blocks(s Shape, tile int, full bool) int {
	m, n, _ := p.Dims(s)
	rows, cols := over(m, tile), over(n, tile)
	if p.Symmetric() && !full {
		return rows * (rows + 1) / 2
	}
	return rows * cols
}

// Executed returns the operations that the kernels do for one product of one matrix: whole tiles,
// including those of the diagonal and of the edges. With full set, it counts every tile of a
// symmetric product.
func (p Product) Executed(s Shape, tile int, full bool) float64 {
	_, _, k := p.Dims(s)
	return float64(p.Blocks(s, tile, full)) * 2 * float64(tile) * float64(tile) * float64(over(k, Depth)*Depth)
}

// Traffic returns the least bytes that one product of one matrix moves to and from memory, at 2
// bytes per element: each operand is read once, each result written once. Apply's result is written
// twice, plain and transposed. Full products write the same; tiles are read again from the caches.
func (p Product) Traffic(s Shape) float64 {
	m, n := float64(s.Short()), float64(s.Long())
	switch p {
	case Gram:
		return 2 * (m*n + m*m)
	case Square:
		return 2 * (m*m + m*m)
	default:
		return 2 * (m*m + m*n + m*n + 2*m*n) // B, Xᵀ, X; both results
	}
}

// PanelRows is the approximate number of rows of a symmetric product in one vendor's product: fewer
// would leave processors idle, more would make more of the other half.
const PanelRows = 512

// Panels returns the ends of the panels of rows for a symmetric product of m rows by vendor's
// products, each up to its own last column: one per PanelRows rows, at most eight, as equal as
// whole tiles of zb_mirror allow.
func Panels(m, rows int) []int {
	const most, tile = 8, 64
	height := over(over(m, min(most, max(1, m/rows))), tile) * tile
	var ends []int
	for end := height; end < m; end += height {
		ends = append(ends, end)
	}
	return append(ends, m)
}

// Panelled returns the operations of a vendor's product for one product of one matrix; a symmetric
// one is made in panels.
func (p Product) Panelled(s Shape, panel int) float64 {
	if !p.Symmetric() {
		return p.Effective(s)
	}
	m, _, k := p.Dims(s)
	from, elements := 0, 0
	for _, end := range Panels(m, panel) {
		elements += (end - from) * end
		from = end
	}
	return 2 * float64(elements) * float64(k)
}

// VendorTraffic returns the least bytes of a Newton–Schulz step by a vendor's products, for one
// matrix: X·Xᵀ and A² write one half each; zb_mirror reads it (for B also A's) and writes the other
// half (of B all); B·X reads B and X and writes X.
func VendorTraffic(s Shape) float64 {
	m, n := float64(s.Short()), float64(s.Long())
	return 2 * ((m*n + m*m/2) + m*m + (m*m + m*m/2) + 2*m*m + (m*m + 2*m*n))
}

// Traffic holds the bytes of a pass over one matrix: the least that are moved, and the touched
// ones.
type Traffic struct{ Moved, Touched float64 }

// StepTraffic returns the bytes of a step beside the products, for one matrix, given the bytes per
// gradient element: the first pass reads gradient and momentum and writes momentum and bf16; the
// scaling reads and writes bf16 twice; the update reads weight and bf16 and writes weight.
func StepTraffic(s Shape, gradientBytes int) (prepare, orient, apply Traffic) {
	elements, g := float64(s.Rows)*float64(s.Cols), float64(gradientBytes)
	return Traffic{elements * (g + 4 + 4 + 2), elements * (g + 4 + 2)}, Traffic{elements * (2 + 2 + 2), elements * (2 + 2)}, Traffic{elements * (4 + 2 + 4), elements * (4 + 2)}
}

// IterationSet returns the bytes that Newton–Schulz touches of one matrix: the input and two
// alternating ones, A and B, and with transposes those of all three.
func IterationSet(s Shape, transposes bool) float64 {
	m, n, matrices := float64(s.Short()), float64(s.Long()), 3.0
	if transposes {
		matrices = 6
	}
	return 2 * (matrices*m*n + 2*m*m)
}

// Tile picks a product's tile: the large one, which does more per operand read, unless the small
// one leaves fewer operations or the large one gives too few blocks for the processors.
func (p Product) Tile(s Shape, processors int) int {
	const large, small = 128, 64
	if p.Blocks(s, large, false)*s.Batch < processors {
		return small
	}
	// the small tile runs at less than three quarters of the large one's rate
	if p.Executed(s, small, false) < 0.75*p.Executed(s, large, false) {
		return small
	}
	return large
}

func over(n, d int) int { return (n + d - 1) / d }
