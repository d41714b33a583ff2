package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagGroup is one heading of --help and the flags below it, in order.
type flagGroup struct {
	title string
	flags []string
}

// flagGroups is the order of --help. Every flag of every command is in one of
// them.
var flagGroups = []flagGroup{
	{"Sizes and data (bytes; K, M, G are binary)", []string{
		"minbytes", "maxbytes", "stepfactor", "stepbytes", "sizes", "size", "sweep", "shape", "reduce", "rows", "hidden",
		"datatype", "dtype", "op", "place", "kernels", "coefficients", "data", "fixed-sizes", "compile",
	}},
	{"Timing and verification", []string{
		"iters", "warmup_iters", "hipgraph", "precision", "max-time", "cache", "tune", "check", "verify-budget", "keep-samples", "launches", "rounds",
	}},
	{"Cluster", []string{
		"collective", "nodes", "ranks", "gpus-per-node", "ngpus", "ranks-per-gpu", "groups", "strides", "scale", "device", "all-gpus", "peak",
		"counters", "profile", "leaves", "topo", "screen", "ras", "root", "host", "xml", "outputs", "matrix", "logs", "times", "judge", "hbm-seconds", "deadline",
	}},
	{"Launch", []string{"launch", "slurm-args", "hostfile", "dry-run", "exclude-bad", "screen-first"}},
	{"Deadlines", deadlineFlags},
	{"Simulation", []string{"fabric", "fault", "seed", "trees", "clock", "no-data", "hang-rate"}},
	{"Model and trainer", []string{
		"framework", "config", "optimizer", "preset", "params", "total-params", "largest-param", "layers", "active-params",
		"backward-ms", "forward-ms", "step-ms", "tokens-per-microbatch", "tflops", "recompute",
		"dp", "ep", "pp", "tp", "cp", "instances", "accum", "zero", "grad-dtype", "param-dtype", "mem-budget", "allow-rescale",
	}},
	{"Comparison and thresholds", []string{"variant", "unordered", "threshold", "accept", "fail-on", "require-checked", "min-effect", "miss", "between-run-cv", "timing", "max-rounds", "child-timeout"}},
	{"Output", []string{"env", "out", "force", "resume", "spec", "format", "verbose", "progress", "quiet", "help", "version"}},
	{"Libraries", append([]string{"backend", "libraries"}, libraryFlags()...)},
}

// mostUsed names the flags that come first in a command's help, ten at most.
var mostUsed = map[string][]string{
	"zbench collectives": {"nodes", "ngpus", "minbytes", "maxbytes", "datatype", "framework", "preset", "out", "format", "resume"},
	"zbench rails":       {"nodes", "ngpus", "size", "rounds", "matrix", "logs", "times", "profile", "out", "format"},
	"zbench recommend":   {"framework", "preset", "params", "config", "backward-ms", "tokens-per-microbatch", "tflops", "dp", "out", "format"},
	"zbench hbm":         {"kernels", "size", "dtype", "device", "all-gpus", "sweep", "tune", "out", "format"},
	"zbench kernels muon": {
		"preset", "shape", "coefficients", "reduce", "device", "max-time", "out", "format",
	},
	"zbench bisect":            {"variant", "unordered", "nodes", "ngpus", "minbytes", "maxbytes", "sizes", "out", "format", "resume"},
	"zbench kernels rmsnorm":   {"rows", "hidden", "dtype", "device", "max-time", "out", "format"},
	"zbench kernels layernorm": {"rows", "hidden", "dtype", "device", "max-time", "out", "format"},
}

const mostUsedTitle = "Most used"

// helpWidth is the width of --help in columns: the terminal's, between 60 and 120.
func helpWidth(terminal int) int {
	if terminal == 0 {
		terminal = 80
	}
	return min(max(terminal, 60), 120)
}

// writeUsage prints a command's usage, examples, subcommands, flags by group and
// exit codes.
func writeUsage(to io.Writer, cmd *cobra.Command, width int) error {
	w := new(strings.Builder)
	fmt.Fprintf(w, "Usage:\n  %s\n", cmd.UseLine())
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		w.WriteString("\nCommands:\n")
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				fmt.Fprintf(w, "  %-*s %s\n", c.NamePadding(), c.Name(), c.Short)
			}
		}
	}
	writeFlags(w, cmd, width)
	fmt.Fprintf(w, "\n%s", exitCodes)
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n%s COMMAND --help describes a command.\n", cmd.CommandPath())
	}
	_, err := io.WriteString(to, w.String())
	return err
}

// writeFlags prints each flag once: the most used first, the others by group.
func writeFlags(w *strings.Builder, cmd *cobra.Command, width int) {
	first := mostUsed[cmd.CommandPath()]
	for i, section := range append([]flagGroup{{mostUsedTitle, first}}, flagGroups...) {
		set := pflag.NewFlagSet(section.title, pflag.ContinueOnError)
		set.SortFlags = false
		for _, name := range section.flags {
			if f := cmd.Flags().Lookup(name); f != nil && !f.Hidden && (i == 0 || !slices.Contains(first, name)) {
				set.AddFlag(withOneDefault(f))
			}
		}
		if set.HasFlags() {
			fmt.Fprintf(w, "\n%s:\n%s", section.title, set.FlagUsagesWrapped(width))
		}
	}
}

// withOneDefault is the flag without its own default value where its description names
// the default: "all" of a number whose zero means all.
func withOneDefault(f *pflag.Flag) *pflag.Flag {
	if !strings.Contains(f.Usage, "(default ") {
		return f
	}
	shown := *f
	shown.DefValue, shown.Value = "", ownValue{f.Value}
	return &shown
}

// ownValue hides the type of a value: of the types that pflag knows it prints even an
// empty default.
type ownValue struct{ pflag.Value }

// setHelp gives a command and those below it this form of help.
func setHelp(root *cobra.Command, s State) {
	width := helpWidth(s.Stdout.Width)
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		return writeUsage(cmd.OutOrStderr(), cmd, width)
	})
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		out := cmd.OutOrStdout()
		about := strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short)) + "\n\n"
		if _, err := io.WriteString(out, about); err == nil {
			_ = writeUsage(out, cmd, width) // a closed output has no reader
		}
	})
}
