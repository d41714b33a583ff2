package main

import "github.com/spf13/cobra"

// command is one that zbench has.
type command struct {
	name  string
	build func(State) *cobra.Command
}

// commands are all, in the order of help. Those that are not interruptible save on a signal.
var commands = []command{
	{"collectives", newCollectives},
	{"hbm", newHBM},
	{"kernels", newKernels},
	{"screen", newNodeScreen},
	{"rails", newRails},
	{"bisect", newBisect},
	{"import", interrupted(newImport)},
	{"report", interrupted(newReport)},
	{"compare", interrupted(newCompare)},
	{"recommend", interrupted(newRecommend)},
	{"doctor", interrupted(newDoctor)},
	{"topo", interrupted(newTopo)},
	{"loopback", interrupted(newLoopback)},
	{"list", interrupted(newList)},
	{"token", interrupted(newToken)},
	{"version", interrupted(newVersion)},
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
