package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"zbench/bench/record"
	"zbench/internal/launch"
)

// version is set by the linker in releases.
var version = ""

// toolVersion is the one source of the version.
func toolVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

func tool() record.Tool { return record.Tool{Name: "zbench", Version: toolVersion()} }

// versionLine is what version and --version print.
func versionLine() string {
	return fmt.Sprintf("zbench %s (record format %s, %s, %s/%s)\n", toolVersion(), record.Schema, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// setVersion gives the root command --version.
func setVersion(root *cobra.Command) {
	root.Version = versionLine()
	root.SetVersionTemplate("{{.Version}}")
	root.Flags().Bool("version", false, "print the version")
}

func newVersion(s State) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(s.Stdout, versionLine())
			return err
		},
	}
}

// noArgs refuses arguments as wrong usage.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("`"+cmd.CommandPath()+" --help` shows the usage", "%s takes no arguments, got %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// maxEpoch is the last second of the year 9999, after which RFC 3339 has no name.
const maxEpoch = 253402300799

// created is the time a record carries: SOURCE_DATE_EPOCH when set, so that a
// record can be reproduced byte for byte, else now.
func created(s State) (time.Time, error) {
	text := s.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		return s.Now().UTC().Truncate(time.Second), nil
	}
	epoch, err := strconv.ParseInt(text, 10, 64)
	if err != nil || epoch < 0 || epoch > maxEpoch {
		return time.Time{}, usagef("unset it or give seconds since 1970", "SOURCE_DATE_EPOCH=%q is not a number of seconds from 0 to %d", text, maxEpoch)
	}
	return time.Unix(epoch, 0).UTC(), nil
}

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
