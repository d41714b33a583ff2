package main

import (
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"zbench/bench/base/unit"
	"zbench/bench/files/formats"
	"zbench/bench/files/trace"
)

// addChakra adds the flag --chakra to a command that can write Chakra traces.
func addChakra(f *pflag.FlagSet, to *bool, what string) {
	f.BoolVar(to, "chakra", false, "also write "+what+" as Chakra execution traces (chakra.N.et is rank N)")
}

// checkChakra refuses --chakra without an output folder.
func checkChakra(asked bool, to output) error {
	if asked && to.out == "" {
		return usagef("add --out DIR", "--chakra writes files, a rank each, and there is no folder for them")
	}
	return nil
}

func chakraFile(s State, rank int, t *trace.Trace, nodes []trace.Node) artifact {
	name := fmt.Sprintf("chakra.%d.et", rank)
	return artifact{name, func(w io.Writer) error {
		left, err := formats.WriteChakra(w, t, nodes)
		if left > 0 {
			s.note(false, "%s lacks %s: Chakra has no such collective\n", name, unit.Count(int64(left), "call"))
		}
		return err //nolint:wrapcheck // the folder's error names the file
	}}
}

// chakraFiles returns one file per rank of a trace. Files are numbered by rank, or in the order of
// the trace if some ranks are unknown.
func chakraFiles(s State, t *trace.Trace) (files []artifact) {
	met := map[int]bool{}
	numbered := true
	for _, r := range t.Ranks {
		numbered = numbered && r.Rank >= 0 && !met[r.Rank]
		met[r.Rank] = true
	}
	for i, r := range t.Ranks {
		if numbered {
			i = r.Rank
		}
		files = append(files, chakraFile(s, i, t, r.Graph()))
	}
	return files
}
