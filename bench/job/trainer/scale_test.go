package trainer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/job/trainer"
)

// Lists are read in a time that grows with their length and not with its square.
func BenchmarkRead(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		var csv, json strings.Builder
		json.WriteString("[")
		for i := range n {
			fmt.Fprintf(&csv, "model.layers.%d.mlp.experts.%d.w,2048x1408\n", i/100, i%100)
			fmt.Fprintf(&json, "%s\n{\"name\": \"model.layers.%d.mlp.experts.%d.w\", \"shape\": [2048, 1408]}", strings.Repeat(",", min(i, 1)), i/100, i%100)
		}
		json.WriteString("]")
		for name, text := range map[string]string{"csv": csv.String(), "json": json.String()} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					m, err := trainer.ReadModel("p", strings.NewReader(text), nil)
					require.NoError(b, err)
					require.Len(b, m.Params, n)
				}
			})
		}
	}
}
