package main

import (
	"bytes"
	"context"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/test/longtest"
	"zbench/test/project"
)

// A command that has a document says what its JSON is, where its flag is described.
func TestCommandsSayWhatTheirJSONIs(t *testing.T) {
	for _, c := range commands {
		cmd := c.command(State{})
		has := false
		for _, one := range append(cmd.Commands(), cmd) {
			if f := one.Flags().Lookup(formatName); f != nil {
				has = true
				require.Contains(t, f.Usage, "; json is "+c.schemas[0])
			}
		}
		require.Equal(t, has, len(c.schemas) > 0, c.name)
	}
}

func TestOnlyTheNamedCommandIsBuilt(t *testing.T) {
	for _, c := range commands {
		root := newRoot(State{Args: []string{c.name, "--help"}})
		var names []string
		for _, b := range root.Commands() {
			if b.Name() != "help" {
				names = append(names, b.Name())
			}
		}
		if c.name == suiteName { // its rows are other commands
			require.Len(t, names, len(commands))
		} else {
			require.Equal(t, []string{c.name}, names)
		}
		require.Equal(t, []string{c.name}, []string{c.build(State{}).Name()})
	}
	for _, args := range [][]string{nil, {"help", "hbm"}, {"--help"}, {"colectives"}, {"-q", "hbm"}} {
		require.Greater(t, len(newRoot(State{Args: args}).Commands()), len(commands)-1, args)
	}
}

// What a command like compare adds to files that others share: its row here and its schema's rows. Its
// package and its own files, by their name, are its own; bisect measures with it.
func TestCompareIsWiredInTwoSharedFiles(t *testing.T) {
	longtest.OneGoroutine(t)
	names := regexp.MustCompile(`"zbench/bench/answers/compare"|\bnewCompare\b`)
	var shared []string
	require.NoError(t, filepath.WalkDir("../..", func(path string, e fs.DirEntry, err error) error {
		own := regexp.MustCompile(`(compare|bisect)[a-z]*\.go$|bench/answers/bisect/|_test\.go$`)
		if err != nil || e.IsDir() || filepath.Ext(path) != ".go" || own.MatchString(path) {
			return err
		}
		if text := readBytes(t, path); names.MatchString(text) {
			shared = append(shared, filepath.ToSlash(path))
		}
		return nil
	}))
	require.Equal(t, []string{"../../cmd/zbench/commands.go", "../../test/schema/documents.go"}, shared)
}

// A script may give -q to every command; what was read and written is then not told, and what is printed is
// the same.
func TestQuietEverywhere(t *testing.T) {
	var each func(cmd *cobra.Command)
	each = func(cmd *cobra.Command) {
		if cmd.Runnable() && cmd.Name() != "help" {
			require.NotNil(t, cmd.Flags().ShorthandLookup("q"), cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			each(sub)
		}
	}
	s, _ := testState(t)
	for _, c := range commands {
		each(c.command(s))
	}
	log, dir := project.File(t, "testdata/all_reduce.log"), t.TempDir()
	for _, args := range [][]string{
		{"import", log, "--force", "--out", filepath.Join(dir, "import")},
		{"report", filepath.Join(dir, "import")},
		{"recommend", log, "--framework", "ddp", "--preset", "llama3-8b", "--force", "--out", filepath.Join(dir, "recommend")},
	} {
		told := func(more ...string) (printed string, wrote bool) {
			var stderr bytes.Buffer
			s, stdout := testState(t, append(args, more...)...)
			s.Stderr = Stream{Writer: &stderr}
			require.Equal(t, exit.OK, Main(context.Background(), s), "%s: %s", args, stderr.String())
			return stdout.String(), strings.Contains(stderr.String(), "Wrote ")
		}
		printed, wrote := told()
		require.True(t, wrote, args)
		again, wrote := told("-q")
		require.False(t, wrote, args)
		require.Equal(t, printed, again)
	}
}
