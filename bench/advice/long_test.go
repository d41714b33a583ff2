package advice_test

import (
	"os"
	"testing"
)

// long leaves a test of seconds to make check-long.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("ZBENCH_LONG") == "" {
		t.Skip("make check-long runs it")
	}
}
