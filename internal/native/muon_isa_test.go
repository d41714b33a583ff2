package native

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/test/issuemodel"
)

// By the model of a compute unit its matrix units work for 85 % of the time behind a memory of
// 800 clocks, two blocks on it: in the loop over stages of the large tile.
func productsKeepTheMatrixUnitsBusy(t *testing.T, asm string) {
	for _, name := range []string{"zb_triangle_128", "zb_product_128"} {
		f := flowOf(t, isaBody(asm, name))
		work := f.all(`^v_mfma`)
		back := f.all(`^s_cbranch`)
		back = slices.DeleteFunc(back, func(i int) bool { return i < work[len(work)-1] || f.next[i][0] > work[0] })
		require.Len(t, back, 1, "%s: branches back over the matrix instructions", name)
		end := back[0]
		loop, err := issuemodel.Read(strings.Join(f.code[f.next[end][0]:end+1], "\n"))
		require.NoError(t, err)
		busy := loop.Busy(2, 64, 800)
		require.GreaterOrEqual(t, busy, 0.85, name)
		t.Logf("%s: matrix units busy %.1f %% at 800 clocks, %.1f %% at 500", name, 100*busy, 100*loop.Busy(2, 64, 500))
	}
}

// The products live by their matrix instruction and by accesses of 16 bytes: all
// that go to memory are of that width, those of the epilogue too. The one behind
// the registers and the shared memory is how many blocks of four waves a compute
// unit holds: two of the large tile, four of the small one.
func productRow(vgpr, lds, occupancy int) isaRow {
	return isaRow{
		want: []string{
			`v_mfma_f32_16x16x16_bf16`, `global_load_dwordx4`, `global_store_dwordx4`, `ds_read_b128`, `ds_write_b128`, `s_barrier`,
		},
		forbid: []string{
			flatAccess, `global_load_(u|s|d16|dword |dwordx2|dwordx3)`, `global_store_(byte|short|dword |dwordx2|dwordx3)`, `scratch_`, `global_atomic`,
		},
		maxVGPR: vgpr, maxLDS: lds, occupancy: occupancy, maxParted: 12,
		ptx: []string{
			`mma\.sync\.aligned\.m16n8k16\.row\.col\.f32\.bf16\.bf16\.f32`, `ldmatrix\.sync\.aligned\.m8n8\.x4`, `cp\.async\.cg\.shared\.global`,
			`st\.global\.v4`,
		},
	}
}

func init() {
	stepRow := isaRow{
		want:   []string{`global_load_dwordx4`, `global_store_dwordx4`},
		forbid: []string{flatAccess, `scratch_`, `global_atomic`}, maxVGPR: 64, occupancy: 8, ptx: []string{`ld\.global.*\.v4`, `st\.global\.v4`},
	}
	maps.Copy(isaRows, map[string]isaRow{
		"zb_triangle_128": productRow(192, 32<<10, 2),
		"zb_product_128":  productRow(192, 32<<10, 2),
		"zb_triangle_64":  productRow(72, 16<<10, 4),
		"zb_product_64":   productRow(72, 16<<10, 4),
		"zb_mirror":       stepRow,
		// rows that end inside 16 bytes go by elements
		"zb_muon_prepare": stepRow,
		"zb_muon_orient":  stepRow,
		"zb_muon_apply":   stepRow,
		"zb_muon_norm":    {forbid: []string{flatAccess, `scratch_`, `global_atomic`}, maxVGPR: 16, maxLDS: 1024, occupancy: 8},
	})
}
