package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zbench/bench/record"
)

// askedFlags gives each flag of hbm and kernels its values, as they would be given
// again: none where it was left out, an empty one for a switch.
var askedFlags = []struct {
	name string
	of   func(*record.Asked) []string
}{
	{"backend", func(a *record.Asked) []string { return []string{a.Backend} }},
	{"preset", func(a *record.Asked) []string { return text(a.Preset) }},
	{"shape", func(a *record.Asked) []string { return a.Shapes }},
	{"coefficients", func(a *record.Asked) []string { return text(a.Coefficients) }},
	{"reduce", func(a *record.Asked) []string { return whole64(int64(a.Reduce)) }},
	{"size", func(a *record.Asked) []string { return whole64(a.Size) }},
	{"kernels", func(a *record.Asked) []string { return joined(a.Kernels) }},
	{"rows", func(a *record.Asked) []string { return whole64(a.Rows) }},
	{"hidden", func(a *record.Asked) []string {
		var list []string
		for _, h := range a.Hidden {
			list = append(list, strconv.FormatInt(h, 10))
		}
		return joined(list)
	}},
	{"dtype", func(a *record.Asked) []string { return joined(a.Dtypes) }},
	{"data", func(a *record.Asked) []string { return text(a.Data) }},
	{"sweep", func(a *record.Asked) []string { return onOff(a.Sweep) }},
	{"tune", func(a *record.Asked) []string { return onOff(a.Tune) }},
	{"device", func(a *record.Asked) []string { return whole64(int64(a.Device)) }},
	{"all-gpus", func(a *record.Asked) []string { return onOff(a.AllGPUs) }},
	{"precision", func(a *record.Asked) []string { return []string{fmt.Sprint(a.Precision)} }},
	{"max-time", func(a *record.Asked) []string { return []string{fmt.Sprint(a.MaxTime)} }},
	{"seed", func(a *record.Asked) []string { return []string{fmt.Sprint(a.Seed)} }},
	{"peak", func(a *record.Asked) []string {
		if a.Peak == 0 {
			return nil
		}
		return []string{fmt.Sprint(a.Peak / 1e9)}
	}},
	{"fault", func(a *record.Asked) []string { return a.Faults }},
}

func text(v string) []string {
	if v == "" {
		return nil
	}
	return []string{v}
}

func whole64(v int64) []string {
	if v == 0 {
		return nil
	}
	return []string{strconv.FormatInt(v, 10)}
}

func onOff(v bool) []string {
	if !v {
		return nil
	}
	return []string{""}
}

func joined(list []string) []string { return text(strings.Join(list, ",")) }

// commandOf is the command of a benchmark, behind "zbench ".
func commandOf(benchmark string) string {
	switch benchmark {
	case "", record.Collectives, record.FromLogs:
		return "collectives"
	case record.HBM:
		return record.HBM
	}
	return "kernels " + benchmark
}

// resumeWith is the command line that goes on with a run.
func resumeWith(rec *record.Record, dir string) string {
	return "zbench " + commandOf(rec.Benchmark) + " --resume " + dir
}

// reproduceKernels is the command line that makes a record of kernels again.
func reproduceKernels(rec *record.Record) string {
	line := []string{"zbench", commandOf(rec.Benchmark)}
	for _, f := range askedFlags {
		for _, v := range f.of(rec.Asked) {
			switch line = append(line, "--"+f.name); {
			case v == "":
			case strings.ContainsAny(v, " \t"):
				line = append(line, strconv.Quote(v))
			default:
				line = append(line, v)
			}
		}
	}
	return strings.Join(line, " ")
}

// clashes names the flags that were given beside --resume and differ from what the
// run was begun with.
func clashes(cmd *cobra.Command, given, begun *record.Asked) []string {
	var list []string
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		for _, f := range askedFlags {
			was, is := f.of(begun), f.of(given)
			if f.name != flag.Name || slices.Equal(was, is) || f.name == "backend" && given.Backend == "auto" {
				continue
			}
			list = append(list, fmt.Sprintf("--%s %s, now %s", f.name, or(was), or(is)))
		}
	})
	return list
}

// or is a flag's values for a message.
func or(values []string) string {
	switch v := strings.Join(values, ", "); {
	case len(values) == 0:
		return "none"
	case v == "":
		return "on"
	default:
		return v
	}
}
