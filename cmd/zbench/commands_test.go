package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnlyTheNamedCommandIsBuilt(t *testing.T) {
	for _, c := range commands {
		root := newRoot(State{Args: []string{c.name, "--help"}})
		var names []string
		for _, b := range root.Commands() {
			if b.Name() != "help" {
				names = append(names, b.Name())
			}
		}
		require.Equal(t, []string{c.name}, names)
		require.Equal(t, []string{c.name}, []string{c.build(State{}).Name()})
	}
	for _, args := range [][]string{nil, {"help", "hbm"}, {"--help"}, {"colectives"}, {"-q", "hbm"}} {
		require.Greater(t, len(newRoot(State{Args: args}).Commands()), len(commands)-1, args)
	}
}
