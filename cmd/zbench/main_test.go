package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
)

// The scripts run this test binary as zbench.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"zbench": func() { os.Exit(Main(context.Background(), osState())) }})
}

func TestScripts(t *testing.T) {
	logs := ""
	if dir, err := filepath.Abs("../../../shared/logs"); err == nil {
		if _, err := os.Stat(dir); err == nil {
			logs = dir
		}
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("LOGS", logs)
			return nil
		},
		Condition: func(cond string) (bool, error) { return cond == "logs" && logs != "", nil },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": exitCode,
		},
	})
}

// exitCode runs zbench and checks its exit code: code 2 zbench list nothing.
// Its output is left for stdout and stderr as exec leaves it.
func exitCode(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: code N command…")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = exitOf(err)
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

func TestEveryFlagDefaultParses(t *testing.T) {
	for _, row := range slices.Concat(sweepFlags, ownFlags) {
		var o sweepOptions
		require.NoError(t, row.set(&o, row.fallback), row.name)
		require.Error(t, row.set(&o, "nonsense"), row.name)
		require.NotEmpty(t, row.meaning)
		require.NotEmpty(t, row.unit)
	}
}
