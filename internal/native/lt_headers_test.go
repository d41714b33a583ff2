package native

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ltHeaders are the vendors' headers of the products by heuristics.
var ltHeaders = map[string]vendorHeaders{
	"rocm":    {"ZBENCH_HIPBLASLT_INCLUDE", "lt_rocm.h"}, // hipBLASLt of sid
	"cuda_11": {"ZBENCH_CUDA11_INCLUDE", "lt_cuda.h"},    // cuBLASLt of CUDA 11.8
	"cuda_12": {"ZBENCH_CUDA12_INCLUDE", "lt_cuda.h"},    // cuBLASLt of CUDA 12.4
}

// The functions, values and layouts of the products by heuristics are what the vendors' own headers say.
func TestLTHeaders(t *testing.T) {
	for name, at := range ltHeaders {
		t.Run(name, func(t *testing.T) {
			out, err := compileLT(t, at.open(t), ltText(t))
			require.NoError(t, err, "%s", out)
		})
	}
}

// Without this the test above could pass whatever lt.h says.
func TestLTHeadersFindWrongRows(t *testing.T) {
	edits := map[string][2]string{
		"sums and type swapped":          {`int sums, int scale_type`, `int scale_type, int sums`},
		"an attribute of another kind":   {`int desc_attribute`, `int layout_attribute`},
		"a narrower size":                {`uint64_t rows`, `uint32_t rows`},
		"the preference forgotten":       {`void \*pref, int most`, `int most`},
		"a layout by value":              {`const void \*b, void \*b_layout`, `const void *b, uint64_t b_layout`},
		"a wrong transposition":          {`ROW\(T, 112, 1\)`, `ROW(T, 113, 2)`},
		"an attribute's wrong number":    {`ROW\(DESC_B, 1, 4\)`, `ROW(DESC_B, 2, 5)`},
		"a result's wrong size":          {`ROW\(CHOICE_BYTES, 56, 96\)`, `ROW(CHOICE_BYTES, 64, 88)`},
		"a workspace at the wrong place": {`ROW\(CHOICE_WORKSPACE, 24, 64\)`, `ROW(CHOICE_WORKSPACE, 16, 56)`},
		"a wrong type":                   {`ZB_LT_BF16 = 14`, `ZB_LT_BF16 = 15`},
		"an unknown function":            {`hipblasLtMatmul, cublasLtMatmul\)`, `hipblasLtMatmul3, cublasLtMatmul3)`},
	}
	for name, at := range ltHeaders {
		t.Run(name, func(t *testing.T) {
			opened := at.open(t)
			opened.precompile(t)
			for what, edit := range edits {
				t.Run(strings.ReplaceAll(what, " ", "_"), func(t *testing.T) {
					out, err := compileLT(t, opened, edited(t, ltText(t), edit))
					require.Error(t, err, "%s", out)
					require.NotContains(t, out, "fatal error")
					t.Log(firstError(out, err))
				})
			}
		})
	}
}

func ltText(t *testing.T) string {
	text, err := os.ReadFile("c/lt.h")
	require.NoError(t, err)
	return string(text)
}

// compileLT holds a text of lt.h against a vendor's headers.
func compileLT(t *testing.T, headers *openHeaders, text string) (string, error) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "lt.h"), []byte(text), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "abi.h"), []byte(abiText(t)), 0o600))
	return headers.compile(t, "extern \"C\" {\n#include \"lt.h\"\n}\nZB_LT_SYMBOLS(ZB_LT_IS_REAL)\nZB_LT_VALUES\n", "-I", dir)
}
