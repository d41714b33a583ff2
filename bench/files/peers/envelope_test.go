package peers

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
	"zbench/test/longtest"
)

// at is when a line was written, as a logger has it in front.
func at(format string, more ...string) func(int, time.Time) string {
	return func(_ int, t time.Time) string { return t.Format(format) + strings.Join(more, "") }
}

// always is the same text on each line.
func always(text string) func(int, time.Time) string {
	return func(int, time.Time) string { return text }
}

// seconds is a time since the start.
func seconds(format string) func(int, time.Time) string {
	return func(i int, t time.Time) string { return fmt.Sprintf(format, float64(i)+t.Sub(start).Seconds()/7) }
}

var start = time.Date(2026, 2, 9, 23, 59, 48, 72_000_000, time.UTC)

// styles are what loggers put in front of lines.
var styles = map[string]func(i int, t time.Time) string{
	"containerd":     at("2006-01-02T15:04:05.000000000Z07:00", " stdout F "),
	"rfc3339 nano":   at(time.RFC3339Nano, " "),
	"rfc3339 zone":   at("2006-01-02T15:04:05+02:00 "),
	"no zone":        at("2006-01-02T15:04:05 "),
	"iso space":      at("2006-01-02 15:04:05 "),
	"iso millis":     at("2006-01-02 15:04:05.000 "),
	"iso brackets":   at("[2006-01-02 15:04:05.000000] "),
	"journal":        at("Jan 02 15:04:05", " hosta bash[1234]: "),
	"journal micros": at("Jan 02 15:04:05.000000", " gpu-node-3.cluster systemd[1]: "),
	"syslog":         at("Jan _2 15:04:05", " hosta srun: "),
	"syslog 5424":    at("<14>1 2006-01-02T15:04:05.000Z", " hosta app 77 ID47 - "),
	"actions":        at("nccl-test\tRun tests\t2006-01-02T15:04:05.0000000Z "),
	"cloudwatch":     at("2006-01-02T15:04:05.000000+00:00", " jobs/default/1f7c8e33-a1 "),
	"python":         at("2006-01-02 15:04:05,000", " - root - INFO - "),
	"python short":   always("INFO:root:"),
	"loguru":         at("2006-01-02 15:04:05.000", " | INFO     | __main__:run:42 - "),
	"klog":           at("I0102 15:04:05.000000", "    1234 main.go:42] "),
	"glog":           at("I20060102 15:04:05.000000  1234 runner.cc:118] "),
	"ts":             at("Jan 02 15:04:05 "),
	"line numbers":   func(i int, _ time.Time) string { return fmt.Sprintf("%d:", 17+i) },
	"padded numbers": func(i int, _ time.Time) string { return fmt.Sprintf("%03d: ", i) },
	"ts seconds":     at("15:04:05 "),
	"ts brackets":    at("[15:04:05] "),
	"dmesg":          seconds("[%12.6f] "),
	"epoch":          func(_ int, t time.Time) string { return fmt.Sprintf("%d ", t.Unix()) },
	"epoch fraction": func(i int, t time.Time) string { return fmt.Sprintf("%d.%03d ", t.Unix(), i*37%1000) },
	"elapsed":        seconds("+%.3fs "),
	"kubectl":        always("[pod/launcher-x7k2/mpi] "),
	"kubectl time":   at("[pod/launcher-x/mpi] 2006-01-02T15:04:05.000000000Z "),
	"compose":        always("launcher-1  | "),
	"compose time":   at("launcher-x  | 2006-01-02T15:04:05.000000000Z "),
	"slurm":          always("0: "),
	"slurm padded":   always(" 0: "),
	"mpirun":         always("[1,0]<stdout>:"),
	"mpirun time":    at("Mon Jan _2 15:04:05 2006", "[1,0]<stdout>:"),
	"time and slurm": at("2006-01-02T15:04:05Z", " 0: "),
	"time and mpi":   at("2006-01-02T15:04:05.000Z", " [1,0]<stdout>:"),
	"pdsh":           always("node-17: "),
	"ansible":        always("hosta | "),
	"torchrun":       always("[default0]:"),
	"ray":            always("(TrainWorker pid=4711, ip=10.1.2.3) "),
	"logfmt":         at(`time="2006-01-02T15:04:05Z"`, ` level=info msg="`),
	"heroku":         at("2006-01-02T15:04:05.000000+00:00", " app[worker.1]: "),
	"numbered lines": func(i int, _ time.Time) string { return fmt.Sprintf("%6d\t", i+1) },
	"grep":           func(i int, _ time.Time) string { return fmt.Sprintf("run.log:%d:", i+1) },
	"level":          func(i int, _ time.Time) string { return []string{"INFO  ", "DEBUG "}[i%2] + "[main] " },
	"gitlab":         at("2006-01-02T15:04:05.000000Z", " 01O "),
	"thread id": func(i int, t time.Time) string {
		return t.Format("15:04:05.000 ") + fmt.Sprintf("[0x7f%04x] ", i*7919%65536)
	},
	"us date":    at("01/02/2006 03:04:05 PM "),
	"log4j":      at("06/01/02 15:04:05", " INFO Executor: "),
	"csv export": at("2006-01-02T15:04:05Z", `,hosta,"`),
	"bytes":      always("b'"),
	"tree":       always("│ "),
	"job number": always("job #12 step 3: "),
}

// closing is what stands behind a line.
var closing = map[string]string{"logfmt": `" app=bench`, "csv export": `"`, "bytes": `\n'`}

// enveloped is a log with a style's text in front of each line.
func enveloped(r *rand.Rand, style, log string) string {
	var b strings.Builder
	t := start
	for i, l := range strings.Split(strings.TrimSuffix(log, "\n"), "\n") {
		t = t.Add(time.Duration(r.IntN(2e9)))
		text := styles[style](i, t) + l + closing[style]
		if r.IntN(4) == 0 && closing[style] == "" {
			text = strings.TrimRight(text, " ")
		}
		b.WriteString(text + "\n")
	}
	return b.String()
}

// A log is read alike whatever a logger puts in front of its lines: the same results, settings and world.
func TestEnvelopes(t *testing.T) { envelopes(t, 3) }

// The same of 10,000 logs.
func TestLongEnvelopes(t *testing.T) {
	longtest.Only(t)
	envelopes(t, 10000/len(styles)+1)
}

func envelopes(t *testing.T, times int) {
	logs := map[string]*record.Record{}
	for _, file := range ownLogs(t) {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		rec, err := Parse(strings.NewReader(string(data)), Hints{File: "all_reduce.log"})
		if name := filepath.Base(file); err == nil && len(rec.Source.Imports[0].Skipped) == 0 && !strings.Contains(string(data), "]<std") && !strings.Contains(string(data), "\t") && !strings.Contains(name, "prefix") {
			logs[string(data)] = rec
		}
	}
	texts := slices.Sorted(maps.Keys(logs))
	r := rand.New(rand.NewPCG(57, 1))
	for _, style := range slices.Sorted(maps.Keys(styles)) {
		for range times {
			plain := texts[r.IntN(len(texts))]
			log := enveloped(r, style, plain)
			if strings.HasSuffix(styles[style](1, start), ":") && strings.Contains(plain, "\n0: ") {
				continue // as in 23:59:48: a number between colons is no process
			}
			rec, err := Parse(strings.NewReader(log), Hints{File: "all_reduce.log"})
			require.NoError(t, err, "%s\n%s", style, log)
			want := logs[plain]
			require.Equal(t, want.World, rec.World, "%s\n%s", style, log)
			require.Len(t, rec.Results, len(want.Results), "%s %v\n%s", style, skipBrief(rec), log)
			for i, res := range rec.Results {
				require.Equal(t, brief(want.Results[i]), brief(res), "%s\n%s", style, log)
			}
		}
	}
}

// A table that someone pasted into Markdown is read as the CSV of the same cells.
func TestMarkdownTable(t *testing.T) {
	rec := parseText(t, `## all_reduce_perf on 8 GPUs
| size (B) | count | type | redop | root | time (us) | algbw (GB/s) | busbw (GB/s) | #wrong |
|---------:|------:|------|-------|-----:|----------:|-------------:|-------------:|-------:|
| 8388608 | 2,097,152 | float | sum | -1 | 91.10 | 92.08 | **161.14** | 0 |
| 16777216 | 4,194,304 | float | sum | -1 | 133.9 | 125.30 | **219.27** | 0 |
`, Hints{File: "all_reduce.md", Ranks: 8})
	require.Empty(t, rec.Source.Imports[0].Skipped)
	require.Len(t, rec.Results, 2)
	require.InEpsilon(t, 219.27e9, *rec.Results[1].BusBW, 1e-3)
}

// A row with other text in front than its column names is refused for that.
func TestRowsOfAnotherEnvelope(t *testing.T) {
	log := bothPlaces + eachLine(rowsOf("all_reduce", 8, 1, largeSizes...), "", before("2026-03-04T05:06:07Z "))
	_, err := Parse(strings.NewReader(log), Hints{File: "all_reduce.log"})
	require.ErrorContains(t, err, unlikeHeader)
}
