package envelope

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Lines lose what stands before the column names of their log.
func TestClean(t *testing.T) {
	for raw, want := range map[string]Line{
		"[1,12]<stdout>:# x":                           {Stream: "1,12", Text: "# x"},
		"Mon Mar  4 05:06:07 2026[1,0]<stdout>:   8 2": {Stream: "1,0", Text: "   8 2"},
		"[prterun-a-77@1,3]<stdout>: # x":              {Stream: "1,3", Text: " # x"},
		" 3:    8 2":                                   {Stream: "3", Text: "   8 2"},
		"[pod/launcher/mpi] # x":                       {Text: "# x"},
		"worker-0: # x":                                {Text: "# x"},
		"node1  | # x":                                 {Text: "# x"},
		"Mar 04 05:06:07 # x":                          {Text: "# x"},
		"2026-03-04T05:06:07Z 0: # x":                  {Stream: "0", Text: "# x"},
		"\x1b[1;32m# x\x1b[0m":                         {Text: "# x"},
		" 10%\r 90%\r   8 2\r":                         {Text: "   8 2"},
		"\ufeff# x":                                    {Text: "# x"},
		"a\tb":                                         {Text: "a       b"},
		"host:1:2 [0] NCCL INFO x":                     {Text: "host:1:2 [0] NCCL INFO x"},
		"error: no such thing":                         {Text: "error: no such thing"},
	} {
		c := Cleaner{Names: func(text string) string {
			before, _, found := strings.Cut(text, "#   size")
			if !found {
				return ""
			}
			return before
		}}
		for _, text := range []string{"# x", "   8 2"} {
			if before, _, found := strings.Cut(raw, text); found {
				c.Preview(before+"#   size\n", c.Names)
			}
		}
		got := c.Clean(raw)
		got.Whole = ""
		require.Equal(t, want, got, "%q", raw)
	}
}

// A line of another program keeps its first word, whatever stood before the column names of the table above it.
// Lines that are numbered, or copied from a web page, are as they were; labels of processes stay labels.
func TestNumberedLines(t *testing.T) {
	all := func(lines ...string) (out []Line) {
		none := func(string) string { return "" }
		c := Cleaner{Names: none}
		c.Preview(strings.Join(lines, "\n")+"\n", none)
		for _, l := range lines {
			out = append(out, c.Clean(l))
		}
		return out
	}
	for _, l := range all("25:#  size", "26:  1024", "27:  2048") {
		require.Empty(t, l.Stream)
		require.NotContains(t, l.Text, ":")
	}
	require.Equal(t, "1", all("0: a", "0: b", "1: c")[2].Stream)
	require.Equal(t, "0", all("0: a", "1: b", "0: c")[2].Stream)
	require.Equal(t, "0", all("0: a", "1: b", "2: c", "3: d", "0: e")[4].Stream)
	require.Equal(t, "  1024   256", all("\u00a0 1024 \u00a0 256")[0].Text)
}

func TestOtherShapes(t *testing.T) {
	for e, lines := range map[envelope][]string{
		"1733290039 ": {"all_reduce_perf -b 8M", "# nThread 1", "  8388608 2097152"},
		"INFO:root:":  {"2026:root:x", "INFO root:x"},
		"[12:30:05] ": {"[main] x", "12:30:05 x"},
	} {
		for _, text := range lines {
			_, ok := e.open(text)
			require.False(t, ok, "%q before %q", e, text)
		}
	}
}
