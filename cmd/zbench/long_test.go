package main

import (
	"os"
	"testing"
)

// takesLong leaves a test of seconds to make check-long.
func takesLong(t *testing.T) {
	t.Helper()
	if os.Getenv("ZBENCH_LONG") == "" {
		t.Skip("make check-long runs it")
	}
}
