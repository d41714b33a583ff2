package muon

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	method "zbench/bench/work/muon"
)

// A batch that is larger than a launch may be is split, and each matrix comes out
// as in one launch.
func TestBatchesAreSplit(t *testing.T) {
	d := open(t, "keller-jordan")
	for _, shape := range [][2]int{{24, 40}, {40, 24}} {
		results := func(most int) []*mat.Dense {
			d.most = most
			w := work(t, d, shape[0], shape[1], 5) // what another has left there would pass
			checks, err := w.Check()
			passes(t, checks, err)
			var all []*mat.Dense
			for i := range w.shape.Batch {
				m, err := w.Result(i)
				require.NoError(t, err)
				all = append(all, m)
			}
			return all
		}
		whole := results(5)
		for _, most := range []int{1, 2, 3} {
			for i, m := range results(most) {
				require.True(t, mat.Equal(whole[i], m), "matrix %d, at most %d a launch", i, most)
			}
		}
	}
}

// The largest batch, 65,536, is one more than a grid of CUDA's has in its second
// dimension.
func TestLargestBatchFitsAGrid(t *testing.T) {
	d := open(t, "keller-jordan")
	w := work(t, d, 8, 8, method.MaxBatch)
	for _, p := range method.Products() {
		for _, full := range []bool{false, true} {
			var blocks []uint32
			for _, s := range w.Product(p, 0, full) {
				blocks = append(blocks, s.Launch.Grid[1])
			}
			require.Equal(t, []uint32{65535, 1}, blocks, "%s", p)
		}
	}
}

// The kernels are compiled for the dies of the device that they run on.
func TestDiesAreTheDevices(t *testing.T) {
	d := open(t, "keller-jordan")
	require.Equal(t, []string{"ZB_DIES=8"}, d.defines(), "the loopback's MI300X tells")
	d.info.Dies, d.info.Units = 0, 38
	require.Equal(t, []string{"ZB_DIES=1"}, d.defines(), "a die of its own, under a HIP that does not tell")
}
