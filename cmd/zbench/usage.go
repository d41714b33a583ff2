package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zbench/bench/base/exit"
	"zbench/bench/hardware/collective"
)

// usage marks an error as a usage error.
func usage(err error, hint string) error { return exit.UsageError(err, hint) }

func usagef(hint, format string, args ...any) error { return exit.Usagef(hint, format, args...) }

// exitCodes describes the exit codes for the help text.
func exitCodes() string {
	var b strings.Builder
	b.WriteString("Exit codes, the first that applies:\n")
	for _, r := range exit.Table() {
		fmt.Fprintf(&b, "  %-4d %s\n", r.Code, r.Meaning)
	}
	return b.String()
}

// flagError rewrites pflag's error about a value that is not a number. The new error names the
// flag, the value and the expected form.
func flagError(err error) error {
	var v *pflag.InvalidValueError
	var number *strconv.NumError
	if !errors.As(err, &v) || !errors.As(err, &number) {
		return err
	}
	why := "not a whole number"
	switch {
	case errors.Is(number, strconv.ErrRange):
		why = "too large"
	case number.Func == "ParseUint":
		why += " from 0"
	case number.Func == "ParseFloat":
		why = "not a number"
	case number.Func == "ParseBool":
		why = "not true or false"
	}
	return fmt.Errorf("invalid argument %q for \"--%s\" flag: %q is %s", v.GetValue(), v.GetFlag().Name, number.Num, why)
}

// collectiveNames returns the collectives in the arguments, which may be separate or joined by
// commas.
func collectiveNames(args []string) []string {
	var names []string
	for name := range strings.SplitSeq(strings.Join(args, ","), ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	for i, name := range names {
		if c, err := collective.ByName(name); err == nil {
			names[i] = c.Name // an unknown name is refused when the sweep is prepared
		}
	}
	if len(names) == 0 && len(args) > 0 {
		return []string{""} // an empty variable of a script must not mean all
	}
	return names
}

// allFlags is --help with every flag. It is not a flag of any command: it is replaced by --help
// before flags are parsed, so that it works even if another argument is missing or wrong.
const allFlags = "--help-all"

// listedBy says which command lists the flags of a command.
func listedBy(command string) string {
	return "`zbench " + command + " " + allFlags + "` lists the flags"
}

// noArgs refuses any arguments.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("`"+cmd.CommandPath()+" --help` shows the usage", "%s takes no arguments, got %q", cmd.CommandPath(), args[0])
	}
	return nil
}
