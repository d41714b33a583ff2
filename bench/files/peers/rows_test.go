package peers

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
)

// edit changes the one line of a log that begins with the given size.
func edit(t *testing.T, log, size string, change func(string) string) string {
	t.Helper()
	lines, found := strings.Split(log, "\n"), 0
	for i, l := range lines {
		if strings.HasPrefix(strings.TrimSpace(l), size+" ") {
			lines[i] = change(l)
			found++
		}
	}
	require.Equal(t, 1, found)
	return strings.Join(lines, "\n")
}

func TestRowThatEndsAfterItsFirstHalf(t *testing.T) {
	log := edit(t, text(t, "nccl219.log"), "1073741824", func(l string) string { return l[:85] })
	rec := parseText(t, log, Hints{})
	require.Equal(t, []string{"the row ends before its second group of values [30]"}, skipBrief(rec))
	require.Len(t, rec.Results, 8)
}

func TestBusBWThatTheTimeDoesNotGive(t *testing.T) {
	for _, printed := range []string{"311.68", "323.68"} {
		log := edit(t, text(t, "copybw.log"), "1073741824", func(l string) string {
			require.Contains(t, l, "317.68")
			return strings.Replace(l, "317.68", printed, 1)
		})
		rec := parseText(t, log, Hints{})
		r := rec.Results[8]
		require.Len(t, r.Warnings, 1)
		require.Equal(t, "busbw_mismatch", r.Warnings[0].Code)
		require.InEpsilon(t, 317.68e9, *r.BusBW, 1e-3, "busbw is computed from the time")
		require.Empty(t, rec.Results[9].Warnings)
	}
}

func TestTimeOfOneDigit(t *testing.T) {
	log := edit(t, text(t, "copybw.log"), "1073741824", func(l string) string { return strings.Replace(l, " 6337.5", "  6e+03", 1) })
	rec := parseText(t, log, Hints{})
	require.InEpsilon(t, 1073741824/169.43e9, rec.Results[8].Burst.MeanOfRanks.Median, 1e-12)
	require.Equal(t, "time_from_algbw", rec.Results[8].Warnings[0].Code)
}

// The worst verdict of repeats is kept, wherever it stands.
func TestWorstVerdictComesFirst(t *testing.T) {
	log := strings.Replace(text(t, "cycles.log"), "     0    21", "     7    21", 1)
	rec := parseText(t, log, Hints{})
	require.Equal(t, record.WrongData, rec.Results[0].Status)
	require.Equal(t, int64(7), *rec.Results[0].Verified.Wrong)
}

// Two one-node processes that print their whole preambles before either table.
func TestTwoPreamblesBeforeTwoTables(t *testing.T) {
	one := strings.Split(strings.TrimSpace(text(t, "old_algbw.log")), "\n")
	two := strings.Split(strings.ReplaceAll(strings.Join(one, "\n"), "dgx", "igx"), "\n")
	log := strings.Join(one[:12], "\n") + "\n" + strings.Join(two[:12], "\n") + "\n"
	log += strings.Join(one[12:16], "\n") + "\n" + strings.Join(one[16:21], "\n") + "\n" + strings.Join(two[16:21], "\n") + "\n"
	_, err := Parse(strings.NewReader(log), Hints{})
	require.ErrorIs(t, err, ErrNoRows)
	require.ErrorContains(t, err, "10 rows skipped (from line 29): several programs wrote into this table at once")
}

// A log cut inside a table and the next run after it are two tests, not two
// processes at once.
func TestRunAfterACutRun(t *testing.T) {
	cut := text(t, "cut_in_number.log")
	rec := parseText(t, cut+"\n"+text(t, "hipevt.log"), Hints{})
	require.Equal(t, []string{"truncated"}, codes(rec))
	require.Len(t, rec.Results, 18)
	require.Equal(t, []int{29}, rec.Source.Imports[0].Skipped[0].Lines)
}

func TestHashAndLines(t *testing.T) {
	log := text(t, "terminal.log")
	imp := parseText(t, log, Hints{File: "terminal.log"}).Source.Imports[0]
	sum := sha256.Sum256([]byte(log))
	require.Equal(t, hex.EncodeToString(sum[:]), imp.SHA256)
	require.Equal(t, strings.Count(log, "\n"), imp.Lines)
	require.Equal(t, "terminal.log", imp.File)
}

// Values that stand under neither group of columns are not given to one.
func TestValuesBetweenTheColumns(t *testing.T) {
	log := edit(t, text(t, "nccl219.log"), "1073741824", func(l string) string {
		return l[:52] + strings.Repeat(" ", 17) + l[52:85]
	})
	require.Equal(t, []string{"it is not clear which columns are blank [30]"}, skipBrief(parseText(t, log, Hints{})))
}

func TestUnbelievableNumbers(t *testing.T) {
	for cell, reason := range map[string]string{
		"  1e+12    0.00    0.00": "the time is longer than a day or shorter than a nanosecond",
		"  1e-04    0.00    0.00": "size/time contradicts algbw",
		"  21.38    0.05   1e+09": "a bandwidth is not a finite positive number",
		" -21.38    0.05    0.04": "the time is not a finite positive number",
		"  21.38   -0.05    0.04": "a bandwidth is not a finite positive number",
		"    nan    0.05    0.04": "the time is not a finite positive number",
		" 0x1p4     0.05    0.04": "the cells do not fit the column names",
		"  21,38    0.05    0.04": "the cells do not fit the column names",
	} {
		log := edit(t, text(t, "nccl219.log"), "1024", func(l string) string { return l[:54] + cell + l[77:] })
		rec := parseText(t, log, Hints{})
		require.Equal(t, []string{reason + " [26]"}, skipBrief(rec), cell)
		require.Len(t, rec.Results, 8)
	}
}

// A run that failed before its table is over when the next one begins.
func TestRunAfterAFailedRun(t *testing.T) {
	log := text(t, "copybw.log")
	failed := strings.Join(strings.Split(log, "\n")[:20], "\n") + "\nnode-b: Test NCCL failure common.cu:1005 'unhandled system error'\n"
	rec := parseText(t, failed+log, Hints{})
	require.Equal(t, []string{"test_failure"}, codes(rec))
	require.Len(t, rec.Results, 10)
}

// A header printed again inside a table keeps the devices, not the name: the rows
// must tell it.
func TestHeaderPrintedAgain(t *testing.T) {
	lines := strings.Split(text(t, "copybw.log"), "\n")
	again := append(append([]string{}, lines[:26]...), append(lines[21:24:24], lines[26:]...)...)
	require.Contains(t, lines[22], "busbw")
	rec := parseText(t, strings.Join(again, "\n"), Hints{})
	require.Equal(t, 16, rec.World.Ranks)
	require.False(t, rec.Source.Imports[0].Truncated)
	require.Equal(t, 5, rec.Source.Imports[0].Rows)
	require.Equal(t, []string{"collective_inferred"}, codes(rec))
}
