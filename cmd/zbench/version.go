package main

import (
	"io"

	"github.com/spf13/cobra"
)

func newVersion(s State) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(s.Stdout, versionLine())
			return err
		},
	}
}
