package muon

// A Product is one of the three products of a Newton–Schulz step.
type Product int

// The products of a step. m is the short side, n is the long side.
const (
	Gram   Product = iota // A = X·Xᵀ: m x m, depth n
	Square                // B = b·A + c·A²: m x m, depth m
	Apply                 // X = a·X + B·X: m x n, depth m
)

// Products lists the products in the order of a step.
func Products() []Product { return []Product{Gram, Square, Apply} }

// String returns the formula of the product.
func (p Product) String() string {
	return [...]string{"X·Xᵀ", "bA + cA²", "aX + BX"}[p]
}

// Symmetric reports whether the result is symmetric, so that one triangle of its tiles is enough.
func (p Product) Symmetric() bool { return p != Apply }

// Dims returns the rows, columns and depth of the product for a shape.
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

// Effective returns the number of floating-point operations of one product for one matrix by
// definition: two for each of rows · columns · depth. Rates that are compared with others use this
// number, even if a kernel computes less.
func (p Product) Effective(s Shape) float64 {
	m, n, k := p.Dims(s)
	return 2 * float64(m) * float64(n) * float64(k)
}

// Depth is the number that divides the depth of every kernel.
const Depth = 32

// Blocks returns the number of tiles of a product. For one triangle it is T(T+1)/2.
func (p Product) Blocks(s Shape, tile int, full bool) int {
	m, n, _ := p.Dims(s)
	rows, cols := over(m, tile), over(n, tile)
	if p.Symmetric() && !full {
		return rows * (rows + 1) / 2
	}
	return rows * cols
}

// Executed returns the number of operations that the kernels execute for one product of one matrix.
// They compute whole tiles, even on the diagonal and at the edges. If full is true, every tile of a
// symmetric product counts.
func (p Product) Executed(s Shape, tile int, full bool) float64 {
	_, _, k := p.Dims(s)
	return float64(p.Blocks(s, tile, full)) * 2 * float64(tile) * float64(tile) * float64(over(k, Depth)*Depth)
}

// Traffic returns the fewest bytes that one product of one matrix moves to and from memory, at 2
// bytes per element: each operand is read once, and each result is written once. The result of
// Apply is written twice, plain and transposed. Full products write the same bytes; tiles that are
// read again come from the caches.
func (p Product) Traffic(s Shape) float64 {
	m, n := float64(s.Short()), float64(s.Long())
	switch p {
	case Gram:
		return 2 * (m*n + m*m)
	case Square:
		return 2 * (m*m + m*m)
	default:
		return 2 * (m*m + m*n + m*n + 2*m*n) // reads B, Xᵀ and X; writes both results
	}
}

// PanelRows is the approximate number of rows of a symmetric product that one product of the vendor
// computes. With fewer rows processors would be idle; with more rows more of the redundant half
// would be computed.
const PanelRows = 512

// Panels returns the ends of the row panels in which a vendor's products compute a symmetric
// product of m rows. Each panel reaches up to its own last column. There is one panel per PanelRows
// rows, but at most eight, and they are as equal as whole tiles of zb_mirror allow.
func Panels(m, rows int) []int {
	const most, tile = 8, 64
	height := over(over(m, min(most, max(1, m/rows))), tile) * tile
	var ends []int
	for end := height; end < m; end += height {
		ends = append(ends, end)
	}
	return append(ends, m)
}

// Panelled returns the number of operations that a vendor's products execute for one product of one
// matrix. A symmetric product is computed in panels.
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

// VendorTraffic returns the fewest bytes that a vendor's products move in a Newton–Schulz step of
// one matrix. X·Xᵀ and A² each write one half. For A, zb_mirror reads that half and writes the
// other half. For B, it reads one half of A² and one half of A, and writes all of B. B·X reads B
// and X and writes X.
func VendorTraffic(s Shape) float64 {
	m, n := float64(s.Short()), float64(s.Long())
	return 2 * ((m*n + m*m/2) + m*m + (m*m + m*m/2) + 2*m*m + (m*m + 2*m*n))
}

// Traffic holds the bytes of a pass over one matrix. Moved counts every read and write. Touched
// counts each address once.
type Traffic struct{ Moved, Touched float64 }

// StepTraffic returns the bytes of a step outside the products, for one matrix. gradientBytes is
// the size of a gradient's element. The first pass reads gradient and momentum, and writes momentum
// and bf16. Scaling reads and writes bf16 twice. The update reads weight and bf16, and writes
// weight.
func StepTraffic(s Shape, gradientBytes int) (prepare, orient, apply Traffic) {
	elements, g := float64(s.Rows)*float64(s.Cols), float64(gradientBytes)
	return Traffic{elements * (g + 4 + 4 + 2), elements * (g + 4 + 2)}, Traffic{elements * (2 + 2 + 2), elements * (2 + 2)}, Traffic{elements * (4 + 2 + 4), elements * (4 + 2)}
}

// IterationSet returns the bytes of one matrix that Newton–Schulz touches: the input, two matrices
// that alternate, A and B. With transposes, the first three are stored transposed, too.
func IterationSet(s Shape, transposes bool) float64 {
	m, n, matrices := float64(s.Short()), float64(s.Long()), 3.0
	if transposes {
		matrices = 6
	}
	return 2 * (matrices*m*n + 2*m*m)
}

// Tile chooses the tile of a product. The large tile does more work per operand that it reads. The
// small tile is used if it leaves clearly fewer operations, or if large tiles are too few for the
// processors.
func (p Product) Tile(s Shape, processors int) int {
	const large, small = 128, 64
	if p.Blocks(s, large, false)*s.Batch < processors {
		return small
	}
	// the small tile reaches less than three quarters of the large tile's rate
	if p.Executed(s, small, false) < 0.75*p.Executed(s, large, false) {
		return small
	}
	return large
}

func over(n, d int) int { return (n + d - 1) / d }
