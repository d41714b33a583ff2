package main

import (
	"github.com/spf13/cobra"

	"zbench/bench/base/spell"
)

// newRoot returns the root command with those commands that the arguments can mean.
func newRoot(s State) *cobra.Command {
	root := &cobra.Command{
		Use:   "zbench",
		Short: "Collectives, memory and kernels of an AMD training cluster, measured",
		Long: `zbench measures what a training run gets from its fabric and its memory, and
turns the measurement into the trainer's buffer configuration.

Without a GPU it runs on the loopback: a fake of the libraries on a virtual
clock, whose figures come from a model and are labelled SIMULATED.`,
		Example: `  zbench collectives --nodes 128            sweep, report, bucket sizes
  zbench collectives all_reduce -b 1M -e 1G  one collective, 1 MiB to 1 GiB
  zbench import all_reduce.log               read an rccl-tests or nccl-tests log
  zbench recommend all_reduce.log --framework ddp --preset llama3-8b --backward-ms 80
  zbench report DIR                          draw the page and plots again
  zbench compare BEFORE AFTER                which cases got slower or faster
  zbench bisect --variant A=… --variant B=…  which build is the first slow one`,
		SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage(flagError(err), spell.Hint(similarFlags(cmd, err), "`"+cmd.CommandPath()+" "+allFlags+"` lists the flags"))
	})
	for _, group := range commandGroups {
		root.AddGroup(&cobra.Group{ID: group, Title: group})
	}
	for _, c := range built(s) {
		root.AddCommand(c.command(s))
	}
	setHelp(root, s)
	setVersion(root)
	root.SetHelpCommand(newHelp(root))
	root.Args = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return unknownCommand(root, args[0])
	}
	return root
}
