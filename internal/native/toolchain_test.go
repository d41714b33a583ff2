package native

import (
	"os"
	"strings"
	"testing"
)

// Toolchain leaves out a test that is mostly the work of compilers, unless
// `make check-toolchain` asks for it: such tests take longer than all others
// together.
func Toolchain(t *testing.T) {
	t.Helper()
	if !strings.HasPrefix(t.Name(), "TestToolchain") {
		t.Fatal("make check-toolchain goes by the name: begin it with TestToolchain")
	}
	if os.Getenv("ZBENCH_TOOLCHAIN") == "" {
		t.Skip("a test of the toolchain: make check-toolchain runs it")
	}
}
