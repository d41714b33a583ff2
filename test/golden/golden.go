// Package golden compares output with files in a package's testdata.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the goldens")

// Updating reports whether the goldens are being rewritten.
func Updating() bool { return *update }

// Equal compares a text with a file in testdata. If they differ, it writes the text to a file with
// the extension .got next to it.
func Equal(t testing.TB, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if diff := cmp.Diff(string(want), got); err != nil || diff != "" {
		_ = os.WriteFile(path+".got", []byte(got), 0o600)
		t.Errorf("%s differs (%v); if it is meant, run with -update:\n%s", path, err, diff)
	}
}
