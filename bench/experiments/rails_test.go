package experiments

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	fullFleets  = 200
	smallFleets = fullFleets / 20
)

func TestRailsFull(t *testing.T) {
	if !*full {
		t.Skip("-args -full")
	}
	rows := RunRails(0, fullFleets, "")
	fmt.Print(RailsMarkdown(rows))
	require.Empty(t, RailsFailures(rows, false))
}
