package muon

// A Product is one of the three of a Newton–Schulz step.
type Product int

// The products of a step, m the short side and n the long one.
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

// Symmetric tells whether one triangle of tiles is enough.
func (p Product) Symmetric() bool { return p != Apply }

// Dims are the product's rows, columns and depth for a shape.
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

// Effective is the floating-point operations of one product of one matrix by
// definition: two for each of rows · columns · depth. It is what a rate that is
// to be compared with others' is made of, whatever was left out.
func (p Product) Effective(s Shape) float64 {
	m, n, k := p.Dims(s)
	return 2 * float64(m) * float64(n) * float64(k)
}

// Depth is what the kernels' depth is a multiple of.
const Depth = 32

// Blocks is the number of tiles that a product has: T(T+1)/2 of a triangle.
func (p Product) Blocks(s Shape, tile int, full bool) int {
	m, n, _ := p.Dims(s)
	rows, cols := over(m, tile), over(n, tile)
	if p.Symmetric() && !full {
		return rows * (rows + 1) / 2
	}
	return rows * cols
}

// Executed is the operations that the kernels do for one product of one matrix:
// whole tiles, those of the diagonal and of the edges included. With full set,
// every tile of a symmetric product too.
func (p Product) Executed(s Shape, tile int, full bool) float64 {
	_, _, k := p.Dims(s)
	return float64(p.Blocks(s, tile, full)) * 2 * float64(tile) * float64(tile) * float64(over(k, Depth)*Depth)
}

// Traffic is the least bytes that one product of one matrix moves to and from
// memory: each operand read once, each result written once, of 2 bytes an
// element. Apply's result is written twice, as it is and transposed. Full
// products write the same; tiles are read again from the caches.
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

// PanelRows is about how many rows of a symmetric product a vendor's product makes at once:
// fewer would leave processors idle, more would make more of the other half.
const PanelRows = 512

// Panels are the ends of the panels of rows in which a symmetric product of m rows is
// made by a vendor's product, each as far as its own last column: one for every so many
// rows, at most eight, as equal as whole tiles of zb_mirror are.
func Panels(m, rows int) []int {
	const most, tile = 8, 64
	height := over(over(m, min(most, max(1, m/rows))), tile) * tile
	var ends []int
	for end := height; end < m; end += height {
		ends = append(ends, end)
	}
	return append(ends, m)
}

// Panelled is the operations that a vendor's product does for one product of one matrix,
// a symmetric one in panels of about so many rows.
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

// VendorTraffic is the least bytes of a step of Newton–Schulz by a vendor's products,
// for one matrix: X·Xᵀ and A² leave one half each, zb_mirror reads it (for B that of A,
// too) and writes the other (of B all), and B·X reads B and X and writes X.
func VendorTraffic(s Shape) float64 {
	m, n := float64(s.Short()), float64(s.Long())
	return 2 * ((m*n + m*m/2) + m*m + (m*m + m*m/2) + 2*m*m + (m*m + 2*m*n))
}

// Traffic is the bytes of a pass over one matrix: moved at the least, and touched.
type Traffic struct{ Moved, Touched float64 }

// StepTraffic is what a step does beside the products, for one matrix, with gradients
// of so many bytes an element: the pass before reads gradient and momentum and writes
// momentum and bf16; the scaling reads and writes that twice over; the update reads
// weight and bf16 and writes weight.
func StepTraffic(s Shape, gradientBytes int) (prepare, orient, apply Traffic) {
	elements, g := float64(s.Rows)*float64(s.Cols), float64(gradientBytes)
	return Traffic{elements * (g + 4 + 4 + 2), elements * (g + 4 + 2)}, Traffic{elements * (2 + 2 + 2), elements * (2 + 2)}, Traffic{elements * (4 + 2 + 4), elements * (4 + 2)}
}

// IterationSet is the bytes that Newton–Schulz touches of one matrix: the input and two that
// take turns, A and B; with transposes those of all three.
func IterationSet(s Shape, transposes bool) float64 {
	m, n, matrices := float64(s.Short()), float64(s.Long()), 3.0
	if transposes {
		matrices = 6
	}
	return 2 * (matrices*m*n + 2*m*m)
}

// Tile picks a product's tile: the large one, which does more with what it
// reads, unless the small one leaves fewer operations or the large one too few
// blocks for so many processors.
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
