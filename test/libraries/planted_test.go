package libraries

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// edits are the places that planted changes: file, text, and what stands there instead.
var edits = [][3]string{
	{"internal/native/kernels/delay.hip", "#if defined(ZB_AMD)", "#if defined(__gfx90a__) || __CUDA_ARCH__ == 800\n  planted mistake;\n#endif\n#if defined(ZB_AMD)"},
	{"cmd/zbench/doctor.go", "slice.Group(native.Kernels(), ", "slice.Group(slice.Where(native.Kernels(), func(k native.Kernel) bool { return k.File == \"delay.hip\" || k.File == \"accumulate.hip\" }), "},
}

// planted is a zbench whose doctor compiles two files of kernels, because a compiler takes
// 20 s for all. One of them has a statement that is none, for gfx90a and sm_80 alone.
func planted(t *testing.T) string {
	t.Helper()
	dir, replace := t.TempDir(), map[string]string{}
	for i, e := range edits {
		file, err := filepath.Abs(filepath.Join("../..", e[0]))
		require.NoError(t, err)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(string(text), e[1]), "%q in %s", e[1], e[0])
		replace[file] = filepath.Join(dir, strconv.Itoa(i))
		require.NoError(t, os.WriteFile(replace[file], []byte(strings.Replace(string(text), e[1], e[2], 1)), 0o600))
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	require.NoError(t, err)
	file, zbench := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "planted")
	require.NoError(t, os.WriteFile(file, overlay, 0o600))
	out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-overlay", file, "-o", zbench, "zbench/cmd/zbench").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return zbench
}
