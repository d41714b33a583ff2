package jsonfile_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/jsonfile"
)

func writtenText(t *testing.T, document any) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, jsonfile.Write(&b, "fish", document))
	return b.Bytes()
}

// A document is not edited as it was written, in another layout, or without a checksum; it is
// with another value, a field more or less, or where fields follow its checksum.
func TestEdited(t *testing.T) {
	text := writtenText(t, shoal{3, []string{"a <b>", "µ"}, []float64{0.1, 1e-300}})
	require.False(t, jsonfile.Edited(text))
	var compact, indented bytes.Buffer
	require.NoError(t, json.Compact(&compact, text))
	require.NoError(t, json.Indent(&indented, text, " ", "\t"))
	require.False(t, jsonfile.Edited(compact.Bytes()))
	require.False(t, jsonfile.Edited(bytes.ReplaceAll(indented.Bytes(), []byte("\n"), []byte("\r\n"))))
	for _, none := range []string{`{"fish":3}`, `{}`, `[1]`, `3`, ``, `{"fish"`, `{"ponds":{"sha256":"5a"}}`} {
		require.False(t, jsonfile.Edited([]byte(none)), none)
	}
	require.False(t, jsonfile.Edited(writtenText(t, struct{}{})))
	for _, x := range [][2]string{{`"fish": 3`, `"fish": 4`}, {`0.1`, `0.10`}, {"\n}\n", ",\n  \"fins\": 2\n}\n"}, {`  "fish": 3,`, ``}, {`"a <b>"`, `"a  <b>"`}} {
		bad := bytes.Replace(text, []byte(x[0]), []byte(x[1]), 1)
		require.NotEqual(t, text, bad)
		require.True(t, jsonfile.Edited(bad), "%s", bad)
	}
}

// Any bit that is turned is noticed, or what is left is no JSON. The name of the checksum is no
// exception.
func TestEveryBitOfADocument(t *testing.T) {
	text := writtenText(t, shoal{31, []string{"pike", "<ide>"}, []float64{1.5, 2e-6}})
	for bit := range 8 * len(text) {
		bad := slices.Clone(text)
		bad[bit/8] ^= 1 << (bit % 8)
		require.True(t, !json.Valid(bad) || jsonfile.Edited(bad), "%s", bad)
	}
}
