// Package trainers holds zbench against real trainers: PyTorch on CPUs, in a chroot
// that `make system-test-trainers` makes.
package trainers

import (
	"os"
	"testing"
)

// chroot is the folder of a Debian with PyTorch, or the test is skipped.
func chroot(t *testing.T) string {
	t.Helper()
	root := os.Getenv("ZBENCH_TORCH")
	if root == "" {
		t.Skip("ZBENCH_TORCH is not set: make system-test-trainers sets it")
	}
	return root
}
