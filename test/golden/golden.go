// Package golden compares what is shown with files of a package's testdata.
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

// Equal compares with a file of testdata. What differs is left beside it as .got.
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
