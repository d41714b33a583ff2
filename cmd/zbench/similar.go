package main

import (
	"cmp"
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zbench/bench/collective"
	"zbench/bench/kernel"
	"zbench/bench/spell"
)

// similarFlags returns the flags, with their dashes, whose names are close to the one in
// an error.
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

// oneDash is the flag that was given with one dash: pflag reads -nodes as -n with the
// value odes. Without a long flag of that name the letters are short flags.
func oneDash(names []string, letters string) []string {
	letters, _, _ = strings.Cut(letters, "=")
	if name, known := spell.Match(names, letters); known && len(letters) > 1 {
		return []string{name}
	}
	return nil
}

// unknownCommand is the error for an unknown command.
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

// subcommands are all commands below one that help lists.
func subcommands(cmd *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" {
			all = append(append(all, c), subcommands(c)...)
		}
	}
	return all
}

// newHelp is `zbench help COMMAND`, which refuses an unknown command.
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

// collectiveNames are the arguments that name collectives, one each or separated by
// commas.
func collectiveNames(args []string) []string {
	names := kernel.Split(args)
	for i, name := range names {
		if c, err := collective.ByName(name); err == nil {
			names[i] = c.Name // an unknown one is refused when the sweep is prepared
		}
	}
	if len(names) == 0 && len(args) > 0 {
		return []string{""} // an empty variable of a script is no request for all
	}
	return names
}
