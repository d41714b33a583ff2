package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"zbench/bench/run/record"
)

// version is set by the linker in releases.
var version = ""

// toolVersion returns the version of zbench. No other code determines it.
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

// versionLine returns the output of version and --version.
func versionLine() string {
	return fmt.Sprintf("zbench %s (record format %s, %s, %s/%s)\n", toolVersion(), record.Schema, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// setVersion adds --version to the root command.
func setVersion(root *cobra.Command) {
	root.Version = versionLine()
	root.SetVersionTemplate("{{.Version}}")
	root.Flags().Bool("version", false, "print the version")
}

// maxEpoch is the last second of the year 9999; RFC 3339 cannot express later times.
const maxEpoch = 253402300799

// created returns the creation time of a record. It is SOURCE_DATE_EPOCH if that is set, so that a
// record can be reproduced byte for byte, else the current time.
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
