package gemm

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/run/record"
)

// UntunedFile is the list of products for PyTorch's TunableOp, in the folder of a run.
const UntunedFile = "tunableop_untuned.csv"

// torchTypes are PyTorch's names of the types in TunableOp's files. Scaled products of 8-bit types
// have other lines and are left out.
var torchTypes = map[string]string{BF16: "BFloat16", FP16: "Half", F32: "float"}

// Untuned returns the products whose first choice is at least 2 % slower than the best timed
// choice, with one line per product. The lines have the form that
// torch.cuda.tunable.tune_gemm_in_file reads (PyTorch 2.14's _process_single_offline_gemm). They
// name no solution, because the numbers of solutions differ between versions of a library. The text
// is empty if there is no such product.
func Untuned(rec *record.Record) string {
	var lines []string
	for _, p := range asked(rec, products(rec)) {
		name := torchTypes[p.dtype]
		if line := p.shape.tunable(name); name != "" && p.gap() >= noticed && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// tunable returns the product's line for TunableOp. PyTorch counts as BLAS does, by columns: the
// columns of C come first, and the leading dimensions of B, A and C last.
func (s Shape) tunable(dtype string) string {
	lda, ldb := s.K, s.N
	if s.Layout[1] == 'T' {
		lda = s.M
	}
	if s.Layout[0] == 'T' {
		ldb = s.K
	}
	op, batch := "GemmTunableOp", ""
	if s.Batch > 1 {
		op, batch = "GemmStridedBatchedTunableOp", fmt.Sprintf("_B_%d", s.Batch)
	}
	return fmt.Sprintf("%s_%s_%s,%s_%d_%d_%d%s_ld_%d_%d_%d\n", op, dtype, s.Layout, strings.ToLower(s.Layout), s.N, s.M, s.K, batch, ldb, lda, s.N)
}
