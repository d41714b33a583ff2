package jsonfile_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/jsonfile"
)

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWrite(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, jsonfile.Write(&b, "fish", map[string]any{"of <two>": jsonfile.Filled[int](nil)}))
	sum := sha256.Sum256([]byte(`{"of <two>":[]}`))
	require.Equal(t, []string{"{", `  "of <two>": [],`, `  "sha256": "` + hex.EncodeToString(sum[:]) + `"`, "}", ""}, strings.Split(b.String(), "\n"))
	b.Reset()
	require.ErrorContains(t, jsonfile.Write(&b, "fish", math.NaN()), "fish: encode: json: unsupported value")
	require.Zero(t, b.Len())
	require.ErrorContains(t, jsonfile.Write(brokenWriter{}, "fish", 1), "fish: write: disk full")
}
