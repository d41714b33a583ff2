package preflight

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/linux"
	"zbench/test/project"
)

// recorded reads a topology of an archive into the place where a kernel has it.
func recorded(t *testing.T, name string) map[string]string {
	t.Helper()
	f, err := os.Open(filepath.Join(project.Published(t, "topology"), name))
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	unzipped, err := gzip.NewReader(f)
	require.NoError(t, err)
	files := map[string]string{}
	for r := tar.NewReader(unzipped); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		if _, in, ok := strings.Cut(h.Name, "/topology/"); ok && strings.HasSuffix(in, "/properties") && !strings.Contains(in, "links") {
			data, err := io.ReadAll(r)
			require.NoError(t, err)
			files["sys/class/kfd/kfd/topology/"+in] = string(data)
		}
	}
}

// A node in CPX mode is seen as one, without amdgpu's own files. One of the 64 partitions is
// not in the first recording.
func TestDataPartitions(t *testing.T) {
	for name, want := range map[string]string{
		"kfd-mi300x-cpx.tar.gz": "1 x a GPU in 7 parts, 7 x a GPU in 8 parts", "kfd-mi308.tar.gz": "8 x a GPU in 4 parts",
	} {
		t.Run(name, func(t *testing.T) {
			got := partitions(linux.Tree{FS: tree(recorded(t, name))})
			require.Equal(t, want, got)
			require.True(t, cutUp(got))
		})
	}
}
