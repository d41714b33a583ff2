package peers

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What stands above a table may look like another format.
func TestTextAboveTheTable(t *testing.T) {
	for _, above := range []string{
		"[](){#ref-allreduce}", "[]", "{}", `["hosta", "hostb"]`, `[{"hosts": ["a", "b"]}]`, `{"nodes": 2}`,
		"The size, the time, and the busbw of two nodes:", "size,time,algbw,busbw", "name,size,count,time,busbw: see below",
		"| size | time | busbw |", "---", "```text",
	} {
		for _, file := range []string{"copybw.log", "tag_output.log", "srun_label.log"} {
			rec := parseText(t, above+"\n"+text(t, file), Hints{File: "all_reduce.log"})
			require.Len(t, rec.Results, 10, "%s above %s", above, file)
		}
	}
}

// Rows of several worlds one after the other, without headers: the reason is that,
// and what is of the first world stays.
func TestBareRowsOfSeveralWorlds(t *testing.T) {
	rows := func(file string) string {
		log := text(t, file)
		return log[strings.Index(log, "        1024"):strings.Index(log, "# Out of")]
	}
	first := ""
	for l := range strings.Lines(rows("srun_label.log")) {
		if !strings.Contains(l, "NCCL") {
			first += strings.TrimPrefix(l, " 0: ")
		}
	}
	// A bus factor of 1.875 and one of 0.9375: all_reduce and reduce_scatter.
	log := first + rows("nccl219.log")
	rec := parseText(t, log, Hints{File: "all_reduce.log"})
	require.Len(t, rec.Results, 10)
	require.Contains(t, rec.Source.Imports[0].Skipped[0].Reason, "of several worlds")
	require.Contains(t, rec.Source.Imports[0].Skipped[0].Reason, "with its header")
}
