package main

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/internal/launch"
)

// The processes that a zbench starts get the token that each of them would read itself:
// white space around it is not part of it, and white space alone is no token.
func TestTokenOfTheParent(t *testing.T) {
	token := strings.Repeat("0f", 32)
	one, several := launch.Role{Start: launch.Slurm, Nodes: 2}, launch.Role{Start: launch.Local, Nodes: 2}
	for name, row := range map[string]struct {
		set          string
		role         launch.Role
		want, refuse string
	}{
		"as it is":              {token, one, token, ""},
		"spaces around":         {" " + token + " ", one, token, ""},
		"a line break":          {token + "\n", several, token, ""},
		"a file of DOS":         {token + "\r\n", one, token, ""},
		"none is made":          {"", one, strings.Repeat("30", 32), ""},
		"spaces are none":       {" \n", one, strings.Repeat("30", 32), ""},
		"none, several nodes":   {"", several, "", "ZBENCH_TOKEN is not set|the same on all nodes"},
		"spaces, several nodes": {"  ", several, "", "ZBENCH_TOKEN is not set|the same on all nodes"},
		"no token":              {"hunter2", one, "", "ZBENCH_TOKEN is not a secret of zbench|unset it"},
		"a digit short":         {token[1:], several, "", "64 hexadecimal digits|the same on all nodes"},
	} {
		t.Run(name, func(t *testing.T) {
			s := State{
				Getenv: func(string) string { return row.set },
				Random: io.LimitReader(strings.NewReader(strings.Repeat("0", 32)), 32),
			}
			got, err := tokenOf(s, row.role)
			if row.refuse == "" {
				require.NoError(t, err)
				require.Equal(t, row.want, got)
				return
			}
			message, next, _ := strings.Cut(row.refuse, "|")
			require.ErrorContains(t, err, message)
			require.Contains(t, hintIn(t, err), next)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

// hintIn is the next step that an error names.
func hintIn(t *testing.T, err error) string {
	t.Helper()
	var e *exit.Error
	require.ErrorAs(t, err, &e)
	return e.Hint
}
