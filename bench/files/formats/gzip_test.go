package formats

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDecompressed(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte("# nThread 1"))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	for _, text := range []string{"# nThread 1", b.String()} {
		r, err := decompressed(bufio.NewReader(strings.NewReader(text)))
		require.NoError(t, err)
		got, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Equal(t, "# nThread 1", string(got))
	}
	_, err = decompressed(bufio.NewReader(strings.NewReader("\x1f\x8bx")))
	require.ErrorIs(t, err, ErrDamaged)
}
