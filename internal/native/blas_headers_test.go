package native

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// blasHeaders are the vendors' headers of the matrix product.
var blasHeaders = map[string]vendorHeaders{
	"rocm":    {"ZBENCH_ROCM_INCLUDE", "blas_rocm.h"},   // rocBLAS of ROCm 5.5
	"cuda_11": {"ZBENCH_CUDA11_INCLUDE", "blas_cuda.h"}, // cuBLAS of CUDA 11.8
	"cuda_12": {"ZBENCH_CUDA12_INCLUDE", "blas_cuda.h"}, // cuBLAS of CUDA 12.4
}

// The functions and values of the matrix product are what the vendors' own
// headers say.
func TestBLASHeaders(t *testing.T) {
	for name, at := range blasHeaders {
		t.Run(name, func(t *testing.T) {
			out, err := compileBLAS(t, at.open(t), blasText(t))
			require.NoError(t, err, "%s", out)
		})
	}
}

// Without this the test above could pass whatever blas.h says.
func TestBLASHeadersFindWrongRows(t *testing.T) {
	edits := map[string][2]string{
		"type and algorithm swapped":      {`int (compute_type|sums), int algorithm`, `int algorithm, int $1`},
		"a transposition for a type":      {`int a_turn, int b_turn`, `int a_turn, int other_type`},
		"a narrower stride":               {`(int64_t|long long)( +\\\s+)?\s*stride_b`, `int stride_b`},
		"the leading dimension forgotten": {`int a_type, int lda`, `int a_type`},
		"an operand by value":             {`const void \*b,`, `uint64_t b,`},
		"a stream too few":                {`\(void \*handle, void \*stream\)`, `(void *handle)`},
		"a wrong transposition":           {`(ZB_\w+_T) = \d+`, `$1 = 7`},
		"a wrong type":                    {`(ZB_ROCBLAS_BF16|ZB_CUDA_R_16BF) = \d+`, `$1 = 2`},
		"an unknown function":             {`(ched_ex|chedEx)\)`, `${1}_3)`},
	}
	for name, at := range blasHeaders {
		t.Run(name, func(t *testing.T) {
			opened := at.open(t)
			opened.precompile(t)
			for what, edit := range edits {
				t.Run(strings.ReplaceAll(what, " ", "_"), func(t *testing.T) {
					out, err := compileBLAS(t, opened, edited(t, blasText(t), edit))
					require.Error(t, err, "%s", out)
					require.NotContains(t, out, "fatal error")
					t.Log(firstError(out, err))
				})
			}
		})
	}
}

func blasText(t *testing.T) string {
	text, err := os.ReadFile("c/blas.h")
	require.NoError(t, err)
	return string(text)
}

// compileBLAS holds a text of blas.h against a vendor's headers.
func compileBLAS(t *testing.T, headers *openHeaders, blas string) (string, error) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "blas.h"), []byte(blas), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "abi.h"), []byte(abiText(t)), 0o600))
	return headers.compile(t, "extern \"C\" {\n#include \"blas.h\"\n}\nZB_BLAS_SYMBOLS(ZB_BLAS_BOTH, ZB_BLAS_ROCM, ZB_BLAS_CUDA)\nZB_BLAS_VALUES\n", "-I", dir)
}
