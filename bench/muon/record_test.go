package muon

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/record"
)

func full() *Report {
	v := 2.5
	return &Report{
		Schema: Schema, Tool: record.Tool{Name: "zbench", Version: "test"}, Created: time.Unix(1e9, 0).UTC(), Device: "a GPU", Backend: "rocm",
		Coefficients: "you", Preset: "zaya1", Seed: 3, Asked: []string{"8x4x2 q", "9x9"}, Done: 1, Step: &v, Vendor: "librocblas.so.4",
		Shapes: []ShapeFacts{{Shape{"q", 8, 4, 2}, 1, []Row{
			{"X·Xᵀ", &v, 20, &v, &v, 7, &v, &v, &v},
			{What: "weight update"},
		}}},
		Checks: []Check{{"8x4x2 q", "8x4", "update against float64", Error{0.01, 0.002}, Tolerance}},
	}
}

func encoded(t testing.TB, r *Report) string {
	var b bytes.Buffer
	require.NoError(t, Encode(&b, r))
	return b.String()
}

func TestRecordReadsBack(t *testing.T) {
	for _, want := range []*Report{full(), {Schema: Schema, Emulated: true, Asked: []string{}, Shapes: []ShapeFacts{}, Checks: []Check{}, Created: time.Unix(0, 0).UTC()}} {
		got, err := Decode([]byte(encoded(t, want)))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	require.Contains(t, encoded(t, &Report{}), `"shapes": [],`)
}

func TestDecodeRefuses(t *testing.T) {
	whole := encoded(t, full())
	for want, text := range map[string]string{
		"not a zbench Muon record":          `{"schema": "zbench.memory/1"}`,
		`this zbench reads "zbench.muon/1"`: strings.Replace(whole, "muon/1", "muon/2", 1),
		"bytes behind its end":              whole + "more",
		"unexpected EOF":                    whole[:len(whole)/2],
		"sides are 1 to":                    strings.Replace(whole, `"rows": 8`, `"rows": 0`, 1),
		"3 of 2 shapes are done":            strings.Replace(whole, `"done": 1`, `"done": 3`, 1),
		"takes no time":                     strings.Replace(whole, `"median_seconds": 2.5`, `"median_seconds": -1`, 1),
	} {
		_, err := Decode([]byte(text))
		require.ErrorContains(t, err, want)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(encoded(f, full())))
	f.Add([]byte(`{"schema": "zbench.muon/1"}`))
	f.Add([]byte(`{"schema":"zbench.muon/1","shapes":[{"shape":{"rows":1,"cols":1,"batch":1},"rows":[{"median_seconds":0}]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Decode(text)
		if err != nil {
			return
		}
		again, err := Decode([]byte(encoded(t, r)))
		require.NoError(t, err)
		require.Equal(t, encoded(t, r), encoded(t, again))
	})
}
