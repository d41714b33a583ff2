package plain

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A shell reads back the words.
func TestShell(t *testing.T) {
	words := []string{"zbench", "", "a b", "it's", "$HOME", "*", "-n", "a;b", `back\slash`, "x=y", "tick`date`", "ü", "(", "a\nb", "~", "#x", "!!"}
	require.Equal(t, "zbench '' 'a b'", Shell(words[:3]...))
	out, err := exec.Command("sh", "-c", "printf '%s\\0' "+Shell(words...)).Output()
	require.NoError(t, err)
	require.Equal(t, words, strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"))
}
