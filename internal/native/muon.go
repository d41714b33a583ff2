package native

// MuonTensor is one weight matrix in a launch of the zb_muon_* kernels, as in
// kernels/muon_tensors.h. Its parts are byte offsets from the launch's memory, multiples of 16.
// Rows and Cols are its shape; Chunk and Tile are the numbers of its first chunk and tile among all
// tensors of the launch.
type MuonTensor struct {
	// Gradient is float32 or bf16; Momentum and Weight are float32.
	Gradient, Momentum, Weight uint64
	// Cast and Update are bf16 matrices of the shape; Flipped is a bf16 matrix of the
	// transposed shape. Their rows are padded to a multiple of eight elements.
	Cast, Flipped, Update uint64
	Rows, Cols            uint32
	Chunk, Tile           uint32
	// Scale is a factor of the update, in addition to the rate.
	Scale float32
	_     uint32
}

// The geometry of the Muon kernels: the elements per chunk, the side of a tile, and the threads per
// block of zb_muon_*. A block of zb_muon_orient and of the products has four waves. The products
// are compiled with ZB_DIES=n for a device that assigns consecutive blocks to n dies in turn.
const (
	MuonChunk   = 8192
	MuonTile    = 64
	MuonThreads = 256
	// MuonBatch is the largest number of matrices in a launch of a product. It
	// is CUDA's limit for the second dimension of a grid; HIP's is one more.
	MuonBatch = 65535
)

// MuonPadded returns the length of a padded row of `cols` elements.
func MuonPadded(cols int) int { return (cols + 7) / 8 * 8 }

// MuonChunks returns the number of blocks of zb_muon_prepare and zb_muon_apply for a matrix.
func MuonChunks(rows, cols int) int { return (rows*cols + MuonChunk - 1) / MuonChunk }

// MuonTiles returns the number of blocks of zb_muon_orient for a matrix.
func MuonTiles(rows, cols int) int {
	return ((rows + MuonTile - 1) / MuonTile) * ((cols + MuonTile - 1) / MuonTile)
}
