package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"zbench/internal/launch"
)

func newToken(s State) *cobra.Command {
	return &cobra.Command{
		Use: "token", Short: "Make a secret for the processes of a run", Args: noArgs,
		Long: `Prints 32 random bytes as 64 hexadecimal digits: the secret that the processes
of a run share. Whoever starts them with a script of their own gives it to all:

  export ZBENCH_TOKEN=$(zbench token)

Keep it out of command lines, which all users of a machine can see.`,
		RunE: func(*cobra.Command, []string) error {
			token, err := launch.NewToken(s.Random)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(s.Stdout, token)
			return err
		},
	}
}
