package jsonfile

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type one struct {
	A int `json:"a"`
}

// A reader is used again: what was before, right or wrong, changes nothing.
func TestOneAfterAnother(t *testing.T) {
	t.Parallel()
	for range 3 {
		var v one
		require.NoError(t, One([]byte(`{"a":1}`), &v))
		require.Equal(t, 1, v.A)
		require.ErrorIs(t, One([]byte(`{"a":2} {"a":3}`), &v), errMore)
		require.ErrorContains(t, One([]byte(`{"b":2}`), &v), "unknown field")
		require.Error(t, One([]byte(`{"a":`), &v))
		require.Error(t, One(nil, &v))
		require.NoError(t, One([]byte(" {\"a\":4} \n"), &v))
		require.Equal(t, 4, v.A)
	}
}

// A message leaves no buffer of its own to collect. The race detector makes sync.Pool
// forget a quarter of them, and a collection may forget all.
func TestOneTakesNoBufferForEachMessage(t *testing.T) {
	const messages, size = 200, 64 << 10
	text := append([]byte(`{"a":1}`), bytes.Repeat([]byte(" "), size)...)
	text = append(text, strings.Repeat("\n", 2)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range messages {
		var v one
		require.NoError(t, One(text, &v))
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(2*messages*size), "without the reader it is four times the messages")
}
