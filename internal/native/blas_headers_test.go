package native

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// productBinding is a header of ours for the vendors' matrix products, or for NVML.
type productBinding struct {
	// header is its name in c, rows what expands all of it against the vendors' own.
	header, rows string
	vendors      map[string]vendorHeaders
	// wrong are edits that must be found: a pattern and what takes its place.
	wrong map[string][2]string
}

var productBindings = map[string]productBinding{
	"products": {
		header: "blas.h", rows: "ZB_BLAS_SYMBOLS(ZB_BLAS_IS_REAL)\nZB_BLAS_VALUES\n",
		vendors: map[string]vendorHeaders{
			"rocm":    {"ZBENCH_ROCM_INCLUDE", "blas_rocm.h"},   // rocBLAS of ROCm 5.5
			"cuda_11": {"ZBENCH_CUDA11_INCLUDE", "blas_cuda.h"}, // cuBLAS of CUDA 11.8
			"cuda_12": {"ZBENCH_CUDA12_INCLUDE", "blas_cuda.h"}, // cuBLAS of CUDA 12.4
		},
		wrong: map[string][2]string{
			"type and algorithm swapped":      {`int (compute_type|sums), int algorithm`, `int algorithm, int $1`},
			"a transposition for a type":      {`int a_turn, int b_turn`, `int a_turn, int other_type`},
			"a narrower stride":               {`(int64_t|long long)( +\\\s+)?\s*stride_b`, `int stride_b`},
			"the leading dimension forgotten": {`int a_type, int lda`, `int a_type`},
			"an operand by value":             {`const void \*b,`, `uint64_t b,`},
			"a stream too few":                {`\(void \*handle, void \*stream\)`, `(void *handle)`},
			"a wrong transposition":           {`(ZB_\w+_T) = \d+`, `$1 = 7`},
			"a wrong type":                    {`(ZB_ROCBLAS_BF16|ZB_CUDA_R_16BF) = \d+`, `$1 = 2`},
			"an unknown function":             {`(ched_ex|chedEx)\b`, `${1}_3`},
		},
	},
	"by heuristics": {
		header: "blas.h", rows: "ZB_LT_SYMBOLS(ZB_LT_IS_REAL)\nZB_LT_VALUES\n",
		vendors: map[string]vendorHeaders{
			"rocm":    {"ZBENCH_HIPBLASLT_INCLUDE", "lt_rocm.h"}, // hipBLASLt of sid
			"cuda_11": {"ZBENCH_CUDA11_INCLUDE", "lt_cuda.h"},    // cuBLASLt of CUDA 11.8
			"cuda_12": {"ZBENCH_CUDA12_INCLUDE", "lt_cuda.h"},    // cuBLASLt of CUDA 12.4
		},
		wrong: map[string][2]string{
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
		},
	},
	"power and temperature": {
		header: "sense.h", rows: "ZB_SENSE_SYMBOLS(ZB_SENSE_IS)\nZB_SENSE_VALUES\n",
		vendors: map[string]vendorHeaders{
			"cuda_11": {"ZBENCH_CUDA11_INCLUDE", "nvml_cuda.h"}, // NVML of CUDA 11.8
			"cuda_12": {"ZBENCH_CUDA12_INCLUDE", "nvml_cuda.h"}, // NVML of CUDA 12.4
		},
		wrong: map[string][2]string{
			"a wider number":            {`unsigned \*mw`, `unsigned long long *mw`},
			"a value before its sensor": {`int sensor, unsigned \*celsius`, `unsigned *celsius, int sensor`},
			"a device by its number":    {`void \*device, unsigned long long`, `int device, unsigned long long`},
			"a device by value":         {`void \*\*device`, `void *device`},
			"a narrower set of bits":    {`unsigned long long \*bits`, `unsigned *bits`},
			"a wrong reason":            {`0x20 \| 0x40`, `0x20 | 0x100`},
			"a wrong sensor":            {`ZB_SENSE_GPU = 0`, `ZB_SENSE_GPU = 1`},
			"an unknown function":       {`nvmlInit_v2`, `nvmlInit_v9`},
		},
	},
}

// The functions, values and layouts of matrix products and of NVML are what the vendors' own headers say, and what
// is not is found: without that the test could pass whatever our headers say.
func TestProductHeaders(t *testing.T) {
	for what, b := range productBindings {
		text, err := os.ReadFile("c/" + b.header)
		require.NoError(t, err)
		for vendor, at := range b.vendors {
			t.Run(strings.ReplaceAll(what+" "+vendor, " ", "_"), func(t *testing.T) {
				opened := at.open(t)
				opened.precompile(t)
				out, err := b.compile(t, opened, string(text))
				require.NoError(t, err, "%s", out)
				for name, edit := range b.wrong {
					t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
						out, err := b.compile(t, opened, edited(t, string(text), edit))
						require.Error(t, err, "%s", out)
						require.NotContains(t, out, "fatal error")
						t.Log(firstError(out, err))
					})
				}
			})
		}
	}
}

// compile holds a text of our header against a vendor's.
func (b productBinding) compile(t *testing.T, headers *openHeaders, text string) (string, error) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, b.header), []byte(text), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "abi.h"), []byte(abiText(t)), 0o600))
	return headers.compile(t, "extern \"C\" {\n#include \""+b.header+"\"\n}\n"+b.rows, "-I", dir)
}
