// Package longtest skips tests that take seconds unless `make check-long` runs them.
package longtest

import (
	"os"
	"testing"
)

// Enabled reports whether tests that take seconds are run.
func Enabled() bool { return os.Getenv("ZBENCH_LONG") != "" }

// Only skips a test unless such tests are run.
func Only(t testing.TB) {
	t.Helper()
	if !Enabled() {
		t.Skip("make check-long runs it")
	}
}

// OnlyOrDetected is Only for a test that the race detector and the sanitizers, which run with -short,
// run, too.
func OnlyOrDetected(t testing.TB) {
	t.Helper()
	if !testing.Short() {
		Only(t)
	}
}

// OneGoroutine skips a test under the race detector and the sanitizers. It is for tests that take
// seconds there, although they use only one goroutine and memory of Go.
func OneGoroutine(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("seconds under the race detector, and one goroutine")
	}
}
