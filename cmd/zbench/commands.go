package main

import (
	"strings"

	"github.com/spf13/cobra"

	"zbench/bench/advice"
	"zbench/bench/bisect"
	"zbench/bench/compare"
	"zbench/bench/fleet/nodescreen"
	"zbench/bench/fleet/rails"
	"zbench/bench/record"
	"zbench/bench/replay"
	"zbench/bench/trace"
	"zbench/internal/doctor"
	"zbench/internal/topo"
)

// command is one that zbench has.
type command struct {
	name  string
	build func(State) *cobra.Command
	// schemas are what --format json prints, one of them, of a command that has the flag.
	schemas []string
}

// commands are all, in the order of help. Those that are not interruptible save on a signal.
var commands = []command{
	{"collectives", newCollectives, []string{record.Schema}},
	{"hbm", newHBM, []string{record.Schema}},
	{"gemm", newGemm, []string{record.Schema}},
	{"kernels", newKernels, []string{record.Schema}},
	{"screen", newNodeScreen, []string{nodescreen.Schema}},
	{"rails", newRails, []string{rails.Schema}},
	{"bisect", newBisect, []string{bisect.Schema}},
	{"import", interrupted(newImport), []string{record.Schema}},
	{"trace", interrupted(newTrace), []string{trace.Schema}},
	{"report", interrupted(newReport), []string{record.Schema}},
	{"compare", interrupted(newCompare), []string{compare.Schema}},
	{"recommend", interrupted(newRecommend), []string{advice.Schema}},
	{"replay", newReplay, []string{replay.Schema}},
	{"doctor", interrupted(newDoctor), []string{doctor.Schema}},
	{"topo", interrupted(newTopo), []string{topo.Schema, topo.DriftSchema}},
	{"loopback", interrupted(newLoopback), nil},
	{"list", interrupted(newList), nil},
	{"token", interrupted(newToken), nil},
	{"version", interrupted(newVersion), nil},
}

// interrupted builds a command that ends at the first signal.
func interrupted(build func(State) *cobra.Command) func(State) *cobra.Command {
	return func(s State) *cobra.Command {
		c := build(s)
		c.RunE = interruptible(c.RunE)
		return c
	}
}

// built are the commands that this process needs: the one that its first argument names,
// else all. Their flags take 0.7 ms and 0.4 MB, of which one command needs a tenth, and a
// run may have a thousand processes on a host.
func built(s State) []command {
	for i, c := range commands {
		if len(s.Args) > 0 && s.Args[0] == c.name {
			return commands[i : i+1]
		}
	}
	return commands
}

// command builds it, says what its JSON is, where its flags are described, and refuses a --format that
// there is not.
func (c command) command(s State) *cobra.Command {
	cmd := c.build(s)
	for _, one := range append(cmd.Commands(), cmd) {
		if f := one.Flags().Lookup(formatName); f != nil {
			f.Usage += "; json is " + strings.Join(c.schemas, " or ")
			one.RunE = inFormat(f, one.RunE)
		}
	}
	return cmd
}
