package main

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/bench/base/plain"
	"zbench/test/longtest"
)

// commandsOf lists a command and all below it.
func commandsOf(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		all = append(all, commandsOf(c)...)
	}
	return all
}

// groupOfFlag is the heading of a flag, empty when the table lacks it.
func groupOfFlag(name string) string {
	for _, g := range flagGroups {
		if slices.Contains(g.flags, name) {
			return g.title
		}
	}
	return ""
}

func helpOf(cmd *cobra.Command, width int, all bool) string {
	var out bytes.Buffer
	cmd.InitDefaultHelpFlag()
	if err := writeUsage(&out, cmd, width, all); err != nil {
		panic(err)
	}
	return out.String()
}

func TestHelpShowsEveryFlagOnce(t *testing.T) {
	longtest.OneGoroutine(t)
	for _, cmd := range commandsOf(newRoot(State{})) {
		help := helpOf(cmd, 80, true)
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			require.NotEmpty(t, groupOfFlag(f.Name), "%s: --%s is in no group", cmd.CommandPath(), f.Name)
			if f.Hidden {
				return
			}
			lines := regexp.MustCompile(`(?m)^ +(-\w, )?--`+regexp.QuoteMeta(f.Name)+`\b( |\[|$)`).FindAllString(help, -1)
			require.Len(t, lines, 1, "%s: --%s", cmd.CommandPath(), f.Name)
		})
	}
}

func TestHelpNamesADefaultOnce(t *testing.T) {
	twice := regexp.MustCompile(`\(default [^()]*\)\s+\(default`)
	for _, cmd := range commandsOf(newRoot(State{})) {
		require.Empty(t, twice.FindString(helpOf(cmd, 80, true)), cmd.CommandPath())
	}
}

func TestHelpNamesNoUnknownFlag(t *testing.T) {
	known := map[string]bool{}
	paths := map[string]*cobra.Command{}
	for _, cmd := range commandsOf(newRoot(State{})) {
		paths[cmd.CommandPath()] = cmd
		cmd.InitDefaultHelpFlag()
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
	}
	seen := map[string]string{}
	for _, g := range flagGroups {
		for _, name := range g.flags {
			require.True(t, known[name], "%s: no command has --%s", g.title, name)
			require.Empty(t, seen[name], "--%s is in two groups", name)
			seen[name] = g.title
		}
	}
	for path, names := range mostUsed {
		require.Contains(t, paths, path)
		require.LessOrEqual(t, len(names), 10, path)
		for _, name := range names {
			require.NotNil(t, paths[path].Flags().Lookup(name), "%s: --%s", path, name)
		}
	}
}

func TestHelpBeginsWithTheMostUsed(t *testing.T) {
	root := newRoot(State{})
	cmd, _, err := root.Find([]string{"collectives"})
	require.NoError(t, err)
	help := helpOf(cmd, 80, true)
	var titles []string
	for line := range strings.SplitSeq(help, "\n") {
		if strings.HasSuffix(line, ":") && !strings.HasPrefix(line, " ") {
			titles = append(titles, strings.TrimSuffix(line, ":"))
		}
	}
	want := []string{"Usage", "Examples", mostUsedTitle}
	for _, g := range flagGroups {
		want = append(want, g.title)
	}
	require.Equal(t, want, titles)
	require.Less(t, strings.Index(help, "--nodes"), strings.Index(help, "--stepfactor"))
}

func TestHelpFitsItsWidth(t *testing.T) {
	for _, width := range []int{80, 100, 120} {
		for _, cmd := range commandsOf(newRoot(State{})) {
			help := cmd.Long + "\n" + helpOf(cmd, width, true) + helpOf(cmd, width, false)
			for _, line := range slices.DeleteFunc(strings.Split(help, "\n"), func(l string) bool { return strings.HasPrefix(l, "  zbench") }) {
				require.LessOrEqual(t, utf8.RuneCountInString(line), width, "%s: %q", cmd.CommandPath(), line)
			}
		}
	}
	require.Equal(t, 80, helpWidth(0))
	require.Equal(t, 60, helpWidth(20))
	require.Equal(t, 120, helpWidth(300))
}

// --help shows the ten flags that people use; the rest, and what is common to all commands, is said to
// be elsewhere.
func TestHelpIsShort(t *testing.T) {
	flag := regexp.MustCompile(`(?m)^  (-\w, |    )--[a-z]`)
	for _, cmd := range commandsOf(newRoot(State{})) {
		if !cmd.HasParent() {
			continue
		}
		path := cmd.CommandPath()
		all, short := helpOf(cmd, 80, true), helpOf(cmd, 80, false)
		shown, more := len(flag.FindAllString(short, -1)), len(flag.FindAllString(all, -1))
		require.LessOrEqual(t, shown, 11, "%s: ten, and --help", path)
		if strings.Contains(all, "--help ") && !strings.Contains(short, "--help  ") {
			more--
		}
		says := fmt.Sprintf("%s --help-all lists %s more.", path, plain.Count(more-shown, "flag"))
		require.Equal(t, more > shown, strings.Contains(short, says), "%s: %s\n%s", path, says, short)
		require.Contains(t, short, "where libraries are looked for: zbench --help")
		require.NotContains(t, all, "130  interrupted")
	}
	root := helpOf(newRoot(State{}), 80, false)
	for _, says := range []string{"130  interrupted", "ZBENCH_RCCL_LIB", "ROCM_PATH", "vendor's default folder, Python packages"} {
		require.Equal(t, 1, strings.Count(root, says), says)
	}
}

// --help-all is help whatever else is given, and an argument behind "--" is a program's own.
func TestHelpOfAllFlags(t *testing.T) {
	for _, args := range [][]string{{"--help-all"}, {"-b", "1K", "--help-all", "all_reduce"}} {
		s, out := testState(t, append([]string{"collectives"}, args...)...)
		require.Equal(t, exit.OK, Main(t.Context(), s))
		require.Contains(t, out.String(), "--stepfactor factor")
	}
	s, out := testState(t, "collectives", "--help")
	require.Equal(t, exit.OK, Main(t.Context(), s))
	require.NotContains(t, out.String(), "--stepfactor factor")
	args, all := helpArgs([]string{"loopback", "--", "program", "--help-all"})
	require.Equal(t, []string{"loopback", "--", "program", "--help-all"}, args)
	require.False(t, all)
}
