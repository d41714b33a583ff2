package experiments

import (
	"fmt"
	"testing"
)

func TestWithinFull(t *testing.T) {
	if !*full {
		t.Skip("-args -full")
	}
	fmt.Print(WithinMarkdown(RunWithin(1, 2)))
}

func TestTryWithin(t *testing.T) {
	fmt.Print(WithinMarkdown(RunWithin(7, 1)))
}
