package peers

import (
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
