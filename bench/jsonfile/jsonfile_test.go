package jsonfile_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/jsonfile"
)

var (
	errNot = errors.New("not a fish")
	fish   = jsonfile.Format{What: "fish", Schema: "sea.fish/2", Not: errNot}
)

func TestDecode(t *testing.T) {
	var doc struct{ Fins int }
	rest, err := fish.Decode([]byte("{\"schema\": \"sea.fish/2\", \"fins\": 3}\n tail"), &doc)
	require.NoError(t, err)
	require.Equal(t, 3, doc.Fins)
	require.Equal(t, "\n tail", string(rest))
	require.ErrorContains(t, fish.Ended(rest), "fish: 6 bytes behind its end")
	require.NoError(t, fish.Ended([]byte(" \n")))
	for text, want := range map[string]string{
		`{"schema": "sea.fishery/2"}`:             "not a fish",
		`{"schema": "sea.fish/3"}`:                `fish: not a fish: it is of version "sea.fish/3", this zbench reads "sea.fish/2"`,
		`{"schema": "sea.fish/2", "fins": `:       "fish: unexpected EOF",
		`{"schema": "sea.fish/2", "fins": "two"}`: "fish: json: cannot unmarshal string",
		// what a later version changed is not this one's error
		`{"schema": "sea.fish/3", "fins": "two"}`:                        `version "sea.fish/3"`,
		strings.Repeat(" ", 200) + `{"schema": "sea.fish/2", "fins": 2}`: "not a fish",
	} {
		_, err := fish.Decode([]byte(text), &doc)
		require.ErrorContains(t, err, want, text)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWrite(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, jsonfile.Write(&b, "fish", map[string]any{"of <two>": jsonfile.Filled[int](nil)}))
	require.Equal(t, []string{"{", `  "of <two>": []`, "}", ""}, strings.Split(b.String(), "\n"))
	b.Reset()
	require.ErrorContains(t, jsonfile.Write(&b, "fish", math.NaN()), "fish: encode: json: unsupported value")
	require.Zero(t, b.Len())
	require.ErrorContains(t, jsonfile.Write(brokenWriter{}, "fish", 1), "fish: write: disk full")
}
