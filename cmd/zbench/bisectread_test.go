package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/bisect"
	"zbench/bench/jsonfile"
	"zbench/bench/spec"
)

func TestVariants(t *testing.T) {
	s, _ := testState(t)
	got, err := parseVariants(s, []string{"7.2=A=1 B=x=y --rccl-lib /opt/a.so --fault late:gpu=1,us=5", "base="}, spec.Collectives)
	require.NoError(t, err)
	require.Equal(t, variant{
		name: "7.2", text: "A=1 B=x=y --rccl-lib /opt/a.so --fault late:gpu=1,us=5",
		environ: []string{"A=1", "B=x=y"}, args: []string{"--rccl-lib", "/opt/a.so", "--fault", "late:gpu=1,us=5"},
	}, got[0])
	require.Equal(t, variant{name: "base", args: []string{}}, got[1])
}

// Whatever a journal holds, reading it ends in its lines or in an error.
func FuzzReadBisectJournal(f *testing.F) {
	h, err := jsonfile.Line(bisect.Header{Schema: bisect.JournalSchema, Options: bisect.Defaults(), Cases: []bisect.Planned{{Key: "k", Bytes: 1}}})
	require.NoError(f, err)
	e, err := jsonfile.Line(bisect.Entry{Variant: "a", Times: map[string]float64{"k": 1}})
	require.NoError(f, err)
	f.Add(append(h, e...))
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		h, _, err := readBisectJournal(text)
		if err == nil {
			require.NotEmpty(t, h.Cases)
		}
	})
}
