package main

import (
	"strings"

	"github.com/spf13/cobra"

	"zbench/bench/answers/advice"
	"zbench/bench/answers/bisect"
	"zbench/bench/answers/compare"
	"zbench/bench/answers/fleet/nodescreen"
	"zbench/bench/answers/fleet/nodewatch"
	"zbench/bench/answers/fleet/rails"
	"zbench/bench/answers/replay"
	"zbench/bench/answers/soak"
	"zbench/bench/answers/suite"
	"zbench/bench/files/trace"
	"zbench/bench/run/record"
	"zbench/internal/doctor"
	"zbench/internal/topo"
)

// command is one of zbench's commands.
type command struct {
	name, group string
	build       func(State) *cobra.Command
	// schemas are the possible schemas of the output of --format json, if the command has that
	// flag.
	schemas []string
}

// Groups of commands in the help text, in this order. The help does not list a command without a
// group.
const (
	measure  = "Measure"
	find     = "Find faults"
	answer   = "Answer"
	contrast = "Compare"
	files    = "Files"
	other    = "Other"
)

var commandGroups = []string{measure, find, answer, contrast, files, other}

// commands has all commands in the order of the help text. Commands that are not wrapped by
// interrupted save their results on a signal.
var commands = []command{
	{"collectives", measure, newCollectives, []string{record.Schema}},
	{"hbm", measure, newHBM, []string{record.Schema}},
	{"gemm", measure, newGemm, []string{record.Schema}},
	{"kernels", measure, newKernels, []string{record.Schema}},
	{suiteName, measure, newSuite, []string{suite.Schema}},
	{"screen", find, newNodeScreen, []string{nodescreen.Schema}},
	{"watch", find, newWatch, []string{nodewatch.Schema}},
	{"rails", find, newRails, []string{rails.Schema}},
	{"soak", find, newSoak, []string{soak.Schema}},
	{"trace", find, interrupted(newTrace), []string{trace.Schema}},
	{"topo", find, interrupted(newTopo), []string{topo.Schema, topo.DriftSchema}},
	{"recommend", answer, interrupted(newRecommend), []string{advice.Schema}},
	{"replay", answer, newReplay, []string{replay.Schema}},
	{"compare", contrast, interrupted(newCompare), []string{compare.Schema}},
	{"bisect", contrast, newBisect, []string{bisect.Schema}},
	{"import", files, interrupted(newImport), []string{record.Schema}},
	{"report", files, interrupted(newReport), []string{record.Schema}},
	{"loopback", other, newLoopback, nil},
	{"doctor", other, interrupted(newDoctor), []string{doctor.Schema}},
	{"list", other, interrupted(newList), nil},
	{"token", "", interrupted(newToken), nil},
	{"version", "", interrupted(newVersion), nil},
}

// interrupted makes a command end at the first signal.
func interrupted(build func(State) *cobra.Command) func(State) *cobra.Command {
	return func(s State) *cobra.Command {
		c := build(s)
		c.RunE = interruptible(c.RunE)
		return c
	}
}

// suiteName is the command that runs a list of other commands.
const suiteName = "suite"

// built returns the commands that this process needs. If the first argument names a command, only
// that command is needed, otherwise all. Building the flags of all commands takes 0.7 ms and 0.4
// MB, ten times more than one command needs, and a host may run a thousand processes.
func built(s State) []command {
	for i, c := range commands {
		if len(s.Args) > 0 && s.Args[0] == c.name && c.name != suiteName {
			return commands[i : i+1]
		}
	}
	return commands
}

// command builds the command. It adds its JSON schemas and its hint about help, and makes it refuse
// an unknown --format.
func (c command) command(s State) *cobra.Command {
	cmd := c.build(s)
	cmd.GroupID, cmd.Hidden = c.group, c.group == ""
	for _, one := range append(cmd.Commands(), cmd) {
		if f := one.Flags().Lookup(formatName); f != nil {
			f.Usage += "; json is " + strings.Join(c.schemas, " or ")
			one.RunE = inFormat(f, one.RunE)
		}
		if one.Flags().Lookup("quiet") == nil && one.Runnable() { // so that a script can pass it to every command
			addQuiet(one.Flags(), new(bool))
		}
	}
	return cmd
}
