package peers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// jsonLines is a form of log with an object on each line.
func jsonLines() func(raw string, last bool) []string {
	out := []string{"collective,nodes,ranks,size,time(us),algbw(GB/s),busbw(GB/s)"}
	return func(raw string, _ bool) []string {
		var row struct {
			Op           string
			Ranks, Bytes int
			US, Alg, Bus json.Number
		}
		if json.Unmarshal([]byte(raw), &row) == nil && row.Op != "" {
			out = append(out, fmt.Sprintf("%s,1,%d,%d,%s,%s,%s", row.Op, row.Ranks, row.Bytes, row.US, row.Alg, row.Bus))
		}
		lines := out
		out = nil
		return lines
	}
}

// A form of log is one registration: its rows are checked and named as those of the text.
func TestAFormIsOneRegistration(t *testing.T) {
	log := `{"form":"toy"}
{"op":"all_reduce","ranks":8,"bytes":1048576,"us":100.0,"alg":10.49,"bus":18.35}
{"op":"all_reduce","ranks":8,"bytes":2097152,"us":100.0,"alg":99.99,"bus":18.35}
{"op":"all_reduce","ranks":8,"bytes":4194304,"us":200.0,"alg":20.97,"bus":36.70}
`
	_, err := Parse(strings.NewReader(log), Hints{})
	require.ErrorIs(t, err, ErrFormat)
	defer func(before []form) { forms = before }(forms)
	register(form{is: func(head []byte) bool { return bytes.HasPrefix(head, []byte(`{"form":"toy"}`)) }, rewriter: jsonLines})
	rec, err := Parse(strings.NewReader(log), Hints{})
	require.NoError(t, err)
	require.Len(t, rec.Results, 2, "%v", rec.Source.Imports[0].Skipped)
	require.Equal(t, "all_reduce", rec.Results[0].Collective)
	require.Equal(t, 8, rec.Results[0].Ranks)
	require.Equal(t, int64(1<<20), rec.Results[0].Bytes)
	require.Equal(t, 4, rec.Source.Imports[0].Lines)
	require.Len(t, rec.Source.Imports[0].Skipped, 1)
}
