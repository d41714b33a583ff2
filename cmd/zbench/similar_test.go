package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/hardware/collective"
	"zbench/test/longtest"
	"zbench/test/mutate"
)

// FuzzMeant: whatever is given for a flag, a command or a collective, what is suggested
// exists.
func TestMeantOfChangedWords(t *testing.T) {
	longtest.OneGoroutine(t)
	seeds := []string{"--nodess", "-nodes", "-é", "--=", "---", "-out=x", "colectives", "kernel", "all-reduce", ",", "\xff", "-n"}
	mutate.Each(t, 1, 300, seeds, func(t *testing.T, arg string) {
		root := newRoot(State{})
		for _, cmd := range commandsOf(root) {
			cmd.InitDefaultHelpFlag()
			err := cmd.ParseFlags([]string{arg})
			if err == nil {
				continue
			}
			for _, name := range similarFlags(cmd, err) {
				require.NotNil(t, cmd.Flags().Lookup(strings.TrimPrefix(name, "--")), "%s %s: %s", cmd.CommandPath(), arg, name)
			}
		}
		hint := hintOf(unknownCommand(root, arg))
		if meant, ok := strings.CutPrefix(hint, "did you mean zbench "); ok {
			for path := range strings.SplitSeq(strings.ReplaceAll(strings.Split(meant, "?")[0], " or ", ", "), ", ") {
				words := strings.Fields(strings.TrimPrefix(path, "zbench "))
				found, rest, err := root.Find(words)
				require.NoError(t, err)
				require.NotSame(t, root, found, path)
				for _, name := range rest {
					_, err := collective.ByName(name)
					require.NoError(t, err)
				}
			}
		}
		for _, name := range collectiveNames([]string{arg}) {
			require.True(t, name != "" || strings.TrimSpace(strings.ReplaceAll(arg, ",", " ")) == "")
		}
	})
}
