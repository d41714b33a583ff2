// Package longtest leaves tests that take seconds to `make check-long`.
package longtest

import (
	"os"
	"testing"
)

// Enabled reports whether tests that take seconds run.
func Enabled() bool { return os.Getenv("ZBENCH_LONG") != "" }

// Only skips the test unless such tests run.
func Only(t testing.TB) {
	t.Helper()
	if !Enabled() {
		t.Skip("make check-long runs it")
	}
}

// OneGoroutine leaves a test out under the race detector and the sanitizers: it takes seconds there,
// in one goroutine on memory of Go.
func OneGoroutine(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("seconds under the race detector, and one goroutine")
	}
}
