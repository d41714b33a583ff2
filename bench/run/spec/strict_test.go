package spec_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/jsonfile"
	"zbench/bench/run/spec"
)

// A misspelt field must not leave its default in silence, at any depth; what is wrong is
// said without words of Go.
func TestReadNamesWhatIsWrong(t *testing.T) {
	text, err := json.Marshal(full())
	require.NoError(t, err)
	for _, one := range []struct{ old, new, says string }{
		{`"seed":`, `"sead":`, `the field "sead" is unknown`},
		{`"iterations":`, `"itrations":`, `the field "itrations" is unknown`},
		{`"zero":0`, `"zerro":0`, `the field "zerro" is unknown`},
		{`"min_bytes":1,`, `"min_bytes":"1M",`, "sweep.min_bytes is text; it must be a whole number"},
		{`"nodes":2,`, `"nodes":2.5,`, "world.nodes is 2.5; it must be a whole number"},
		{`"collectives":["all_reduce"]`, `"collectives":"all_reduce"`, "sweep.collectives is text; it must be a list"},
		{`"recompute":true`, `"recompute":1`, "advice.recompute is a number; it must be true or false"},
		{`"benchmark":"collectives"`, `"benchmark":"hbm"`, `the benchmark hbm needs "kernels", and has no "sweep"`},
		{`"benchmark":"collectives",`, ``, `"benchmark" is missing`},
	} {
		changed := strings.Replace(string(text), one.old, one.new, 1)
		require.NotEqual(t, string(text), changed, one.old)
		for form, file := range map[string]string{
			"spec":   changed,
			"record": `{"schema":"zbench.results/2","simulated":true,"spec":` + changed + `}`,
		} {
			_, err := spec.Read([]byte(file))
			require.ErrorContains(t, err, one.says, form)
			require.NotContains(t, err.Error(), "Go ", form)
			require.NotContains(t, err.Error(), "json:", form)
		}
	}
	for file, says := range map[string]string{
		`[1,2]`:                  "the file is a list; it must be an object",
		string(text[:100]):       "it ends too early",
		string(text) + `{"a":1}`: "there is more after its end",
	} {
		_, err := spec.Read([]byte(file))
		require.ErrorContains(t, err, says)
	}
}

// A request is not taken from a journal whose header is damaged: a flipped bit would
// measure something else.
func TestReadChecksAJournalsHeader(t *testing.T) {
	line := journalOf(t, full())
	got, err := spec.Read(append(slices.Clone(line), "{}\n"...))
	require.NoError(t, err)
	require.Equal(t, full(), *got)
	for i := range (len(line) - 1) * 8 { // all but the newline
		bad := slices.Clone(line)
		bad[i/8] ^= 1 << (i % 8)
		_, err := spec.Read(bad)
		require.Error(t, err, "bit %d of byte %d", i%8, i/8)
	}
}

// journalOf is the first line of a journal of a request.
func journalOf(t testing.TB, of spec.Spec) []byte {
	t.Helper()
	var header struct {
		Schema string `json:"schema"`
		Record struct {
			Spec spec.Spec `json:"spec"`
		} `json:"record"`
	}
	header.Schema, header.Record.Spec = "zbench.journal/3", of
	line, err := jsonfile.Line(strings.Repeat("a5", 16), header)
	require.NoError(t, err)
	return line
}
