package native

// MuonTensor is one weight matrix of a launch of the zb_muon_* kernels, as in
// kernels/muon_tensors.h: byte offsets from the launch's memory (multiples of 16), the shape, and
// the numbers of its first chunk and tile among all tensors of the launch.
type MuonTensor struct {
	// Gradient is of float or bf16; Momentum and Weight are of float.
	Gradient, Momentum, Weight uint64
	// Cast and Update are bf16 of the shape, Flipped of its transpose; their rows are padded to a
	// multiple of eight elements.
	Cast, Flipped, Update uint64
	Rows, Cols            uint32
	Chunk, Tile           uint32
	// Scale is the factor of the update, in addition to the rate.
	Scale float32
	_     uint32
}

// The geometry of the Muon kernels: the elements per chunk, the side of a tile, and the threads per
// block of zb_muon_*. A block of zb_muon_orient and of the products has four waves; these are
// compiled with ZB_DIES=n for a device that deals neighbouring blocks to n dies.
const (
	MuonChunk   = 8192
	MuonTile    = 64
	MuonThreads = 256
	// MuonBatch is the most matrices of a launch of the products: CUDA's limit of
	// blocks in a grid's second dimension, and one less than HIP's.
	MuonBatch = 65535
)

// MuonPadded returns the padded length of a row, in elements.
func MuonPadded(cols int) int { return (cols + 7) / 8 * 8 }

// MuonChunks returns the number of blocks of zb_muon_prepare and _apply for a matrix.
func MuonChunks(rows, cols int) int { return (rows*cols + MuonChunk - 1) / MuonChunk }

// MuonTiles returns the number of blocks of zb_muon_orient for a matrix.
func MuonTiles(rows, cols int) int {
	return ((rows + MuonTile - 1) / MuonTile) * ((cols + MuonTile - 1) / MuonTile)
}
