package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zbench/bench/base/option"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/spell"
	"zbench/bench/hardware/collective"
	"zbench/bench/run/spec"
	"zbench/bench/work/kernel"
)

// flagGroup is a heading of --help with the flags below it, in order.
type flagGroup struct {
	title string
	flags []string
}

// flagGroups are the headings of --help, in order. Every flag of every command is in one group.
var flagGroups = withRows([]flagGroup{
	{"Sizes and data (bytes; K, M, G are binary)", []string{
		"minbytes", "maxbytes", "stepfactor", "stepbytes", "sizes", "size", "sweep", "shape", "reduce", "rows", "hidden",
		"datatype", "dtype", "op", "place", "skew", "kernels", "coefficients", "data", "fixed-sizes", "compile",
	}},
	{"Timing and verification", []string{
		"iters", "warmup_iters", "agg_iters", "blocking", "hipgraph", "nonblocking", "memory_type", "cumask", "register", "cta-policy", "precision", "max-time", "cache", "tune", "check", "verify-budget", "keep-samples", "launches", "rounds", "attempts", "for", "risk",
	}},
	{"Cluster", []string{
		"collective", "nodes", "ranks", "gpus-per-node", "ngpus", "ranks-per-gpu", "groups", "strides", "scale", "device", "all-gpus", "peak",
		"counters", "profile", "leaves", "topo", "screen", "ras", "root", "host", "xml", "outputs", "matrix", "logs", "times", "judge", "hbm-seconds", "soak", "deadline",
		"as", "within", "state", "kernel-log", "claims", "cap", "partition",
	}},
	{"Launch", []string{"launch", "slurm-args", "hostfile", "dry-run", "exclude-bad", "screen-first"}},
	{"Deadlines", deadlineFlags},
	{"Simulation", []string{"fabric", "curve", "fault", "seed", "trees", "clock", "no-data", "library-version", "hang-rate", "torch", "real", "steps", "what-if"}},
	{"Model and trainer", slice.Map(spec.AdviceFlags, func(f option.Row[spec.Asked]) string { return f.Name })},
	{"Comparison and thresholds", []string{"variant", "vary", "unordered", "threshold", "accept", "fail-on", "fail", "allow-unchecked", "require-checked", "min-effect", "miss", "between-run-cv", "across", "before", "names", "timing", "settings", "margin", "compute", "block", "max-steps", "max-rounds", "child-timeout", "row-timeout"}},
	{"Output", []string{"env", "out", "metrics", "hook", "print", "chakra", "force", "resume", "spec", "format", "verbose", "progress", "quiet", "help", "version"}},
	{librariesTitle, append([]string{"backend", "libraries"}, libraryFlags()...)},
})

// withRows adds flags of sweeps and kernels to the first group if no group lists them.
func withRows(groups []flagGroup) []flagGroup {
	names := slice.Map(specFlags, func(f specFlag) string { return f.Name })
	for _, b := range kernelBenches {
		names = append(names, slice.Map(b.Settings, func(f kernel.Setting) string { return f.Name })...)
	}
	for _, name := range names {
		if !slices.ContainsFunc(groups, func(g flagGroup) bool { return slices.Contains(g.flags, name) }) {
			groups[0].flags = append(groups[0].flags, name)
		}
	}
	return groups
}

// mostUsed has the flags, at most ten, that the --help of a command shows. A command that is not
// listed here shows all flags except those of libraries.
var mostUsed = withFamilies(map[string][]string{
	"zbench collectives": {"nodes", "ngpus", "minbytes", "maxbytes", "datatype", "framework", "preset", "out", "format", "resume"},
	"zbench rails":       {"nodes", "ngpus", "size", "rounds", "matrix", "logs", "times", "profile", "out", "format"},
	"zbench watch":       {"as", "within", "state", "claims", "cap", "metrics", "hook", "print", "out", "format"},
	"zbench suite":       {"nodes", "before", "row-timeout", "backend", "launch", "hostfile", "dry-run", "out", "format", "resume"},
	"zbench soak":        {"nodes", "ngpus", "sizes", "attempts", "for", "vary", "launch", "out", "format", "resume"},
	"zbench recommend":   {"framework", "preset", "params", "trace", "config", "backward-ms", "tokens-per-microbatch", "tflops", "out", "format"},
	"zbench replay":      {"framework", "preset", "config", "step-ms", "settings", "margin", "compute", "nodes", "out", "format"},
	"zbench bisect":      {"variant", "vary", "unordered", "nodes", "ngpus", "minbytes", "maxbytes", "out", "format", "resume"},
	"zbench compare":     {"fail-on", "allow-unchecked", "min-effect", "between-run-cv", "timing", "across", "names", "out", "format", "verbose"},
	"zbench import":      {"collective", "nodes", "ranks", "threshold", "accept", "fail-on", "fail", "out", "format", "verbose"},
	"zbench screen":      {"nodes", "launch", "hostfile", "judge", "hbm-seconds", "deadline", "dry-run", "backend", "out", "format"},
	"zbench loopback":    {"nodes", "gpus-per-node", "fabric", "fault", "seed", "clock", "no-data", "torch", "trace", "env"},
	"zbench doctor":      {"backend", "compile", "format"},
})

// withFamilies adds the commands of the families of kernels.
func withFamilies(most map[string][]string) map[string][]string {
	for _, b := range kernelBenches {
		most["zbench "+spec.Command(b.Name)] = b.Most
		most["zbench bisect "+b.Name] = append([]string{"variant", "vary", "unordered"}, b.MostSearched...)
	}
	return most
}

// helpArgs returns the arguments without the request for all flags. The second result is true if
// the user gave that request.
func helpArgs(args []string) (kept []string, all bool) {
	for i, a := range args {
		switch a {
		case "--":
			return append(kept, args[i:]...), all
		case allFlags:
			a, all = "--help", true
		}
		kept = append(kept, a)
	}
	return kept, all
}

const (
	mostUsedTitle  = "Most used"
	librariesTitle = "Libraries"
)

// helpWidth returns the width of --help in columns: the width of the terminal, but at least 60 and
// at most 120.
func helpWidth(terminal int) int {
	if terminal == 0 {
		terminal = 80
	}
	return min(max(terminal, 60), 120)
}

// writeUsage prints the usage of a command, its examples, its subcommands, and its most used flags
// or all flags by group. Exit codes and the search for libraries are the same for all commands, so
// only zbench's own help describes them.
func writeUsage(to io.Writer, cmd *cobra.Command, width int, all bool) error {
	w := new(strings.Builder)
	fmt.Fprintf(w, "Usage:\n  %s\n", cmd.UseLine())
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		if cmd.HasParent() {
			writeCommands(w, cmd, "", "Commands")
		}
		for _, group := range commandGroups {
			writeCommands(w, cmd, group, group)
		}
	}
	hidden := writeFlags(w, cmd, width, all)
	switch {
	case !cmd.HasParent():
		writeLibraries(w, width)
		fmt.Fprintf(w, "\n%s", exitCodes())
	case hidden > 0:
		fmt.Fprintf(w, "\n%s %s lists %s more.\n", cmd.CommandPath(), allFlags, plain.Count(hidden, "flag"))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n%s COMMAND --help describes a command.\n", cmd.CommandPath())
	}
	if cmd.HasParent() {
		fmt.Fprintf(w, "Exit codes, and where libraries are looked for: %s --help\n", cmd.Root().Name())
	}
	_, err := io.WriteString(to, w.String())
	return err
}

// writeCommands prints the commands of a group.
func writeCommands(w *strings.Builder, cmd *cobra.Command, group, title string) {
	title = "\n" + title + ":\n"
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.GroupID == group {
			fmt.Fprintf(w, "%s  %-*s %s\n", title, c.NamePadding(), c.Name(), c.Short)
			title = ""
		}
	}
}

// writeFlags prints the most used flags, or all flags by group after the most used ones; each flag
// appears once. It returns the number of flags that it left out.
func writeFlags(w *strings.Builder, cmd *cobra.Command, width int, all bool) (hidden int) {
	first, named := mostUsed[cmd.CommandPath()]
	for i, section := range append([]flagGroup{{mostUsedTitle, first}}, flagGroups...) {
		set := pflag.NewFlagSet(section.title, pflag.ContinueOnError)
		set.SortFlags = false
		shown := all || i == 0 || !named && section.title != librariesTitle
		for _, name := range section.flags {
			f := cmd.Flags().Lookup(name)
			switch {
			case f == nil || f.Hidden || i > 0 && slices.Contains(first, name):
			case shown:
				set.AddFlag(withOneDefault(f))
			case name != "help":
				hidden++
			}
		}
		if set.HasFlags() {
			fmt.Fprintf(w, "\n%s:\n%s", section.title, set.FlagUsagesWrapped(width))
		}
	}
	return hidden
}

// writeLibraries describes how libraries are found, with the flags and variables of all commands
// that open libraries.
func writeLibraries(w *strings.Builder, width int) {
	opens := &cobra.Command{}
	addLibraryFlags(opens, &libraryOptions{})
	fmt.Fprintf(w, `
%s, of every command that opens any (zbench doctor shows what it finds):
  The order is: the flag, its environment variable, the loader's path, the
  vendor's default folder, Python packages.
%s`, librariesTitle, opens.Flags().FlagUsagesWrapped(width))
}

// withOneDefault removes the default value of a flag whose description names the default in words.
// For example, a number may have the default "all" in its description, and 0 as its value.
func withOneDefault(f *pflag.Flag) *pflag.Flag {
	if !strings.Contains(f.Usage, "(default ") {
		return f
	}
	shown := *f
	shown.DefValue, shown.Value = "", ownValue{f.Value}
	return &shown
}

// ownValue hides the type of a value from pflag. For types that it knows, pflag prints a default
// even if it is empty.
type ownValue struct{ pflag.Value }

// setHelp makes a command and its subcommands use this help text.
func setHelp(root *cobra.Command, s State) {
	width := helpWidth(s.Stdout.Width)
	_, all := helpArgs(s.Args)
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		return writeUsage(cmd.OutOrStderr(), cmd, width, all)
	})
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		out := cmd.OutOrStdout()
		about := strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short)) + "\n\n"
		if _, err := io.WriteString(out, about); err == nil {
			_ = writeUsage(out, cmd, width, all) // ignore a closed output
		}
	})
}

// similarFlags returns flags, with their dashes, whose names are similar to the unknown flag in an
// error.
func similarFlags(cmd *cobra.Command, err error) []string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var near []string
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		near = spell.Near(unknown.GetSpecifiedName(), names)
	case errors.As(err, &unknown):
		near = oneDash(names, unknown.GetSpecifiedShortnames())
	case errors.As(err, &invalid) && invalid.GetFlag().Shorthand != "":
		near = oneDash(names, invalid.GetFlag().Shorthand+invalid.GetValue())
	}
	for i, name := range near {
		near[i] = "--" + name
	}
	return near
}

// oneDash returns the flag that the user gave with one dash instead of two: pflag reads -nodes as
// -n with the value odes. If no long flag has that name, the letters are short flags.
func oneDash(names []string, letters string) []string {
	letters, _, _ = strings.Cut(letters, "=")
	if name, known := spell.Match(names, letters); known && len(letters) > 1 {
		return []string{name}
	}
	return nil
}

// unknownCommand returns the error about an unknown command.
func unknownCommand(root *cobra.Command, given string) error {
	err := &spell.Unknown{Kind: "command", Given: given}
	paths := map[string]string{}
	for _, c := range subcommands(root) {
		paths[c.Name()] = c.CommandPath()
		if c.Parent() == root {
			err.Valid = append(err.Valid, c.Name())
		} else {
			err.Aliases = append(err.Aliases, c.Name())
		}
	}
	near := err.Near()
	for i, name := range near {
		near[i] = paths[name]
	}
	if c, unknown := collective.ByName(given); unknown == nil && len(near) == 0 {
		near = []string{root.Name() + " collectives " + c.Name}
	}
	return usagef(spell.Hint(near, "`"+root.Name()+" --help` describes each command"), "%s", err.Error())
}

// subcommands returns all commands below a command that the help lists.
func subcommands(cmd *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" {
			all = append(append(all, c), subcommands(c)...)
		}
	}
	return all
}

// newHelp makes `zbench help COMMAND`, which refuses an unknown command.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND…]", Short: "Describe a command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(root, cmp.Or(strings.Join(rest, " "), strings.Join(args, " ")))
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}
