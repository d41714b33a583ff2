package record

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/test/schematest"
)

// more is a case that is added after the header's.
func more(key string) AddedRound {
	r := begun().Record.Results[0]
	r.Key = key
	return AddedRound{Reason: Extension, Cases: []Result{r}}
}

// grown is a journal to which cases were added twice, the second before its end.
func grown(t testing.TB) []byte {
	t.Helper()
	text := journalOf(t, begun(), parts()...)
	for _, l := range []JournalLine{more("c"), taken("c", 0), taken("c", 1), AddedRound{Reason: AnswerSizes, Cases: more("d").Cases}, taken("d", 0)} {
		var err error
		text, err = joined(text, begun().Record.Run, l)
		require.NoError(t, err)
	}
	return text
}

// Cases that were added are cases like the others, and the record says which
// they are. What is written again is the same to the last byte.
func TestCasesAreAdded(t *testing.T) {
	text := grown(t)
	j, err := ReadJournal(text)
	require.NoError(t, err)
	require.Equal(t, []int{4, 6}, []int{j.Rounds[0].After, j.Rounds[1].After})
	require.Equal(t, 1, j.Left(), "d has one pass")
	rec := j.Record()
	rec.Results[2].Verified.State = NotVerified
	require.Equal(t, []Added{{Extension, []string{"c"}}, {AnswerSizes, []string{"d"}}}, rec.Added)
	var status []Status
	for _, r := range rec.Results {
		status = append(status, r.Status)
	}
	require.Equal(t, []Status{OK, OK, Skipped, OK, Interrupted}, status)
	require.Empty(t, j.Header.Record.Added, "the header stays as it was")
	again, err := j.Text()
	require.NoError(t, err)
	require.Equal(t, string(text), string(again))
	require.NoError(t, schematest.Fits(t, schematest.Compile(t, SchemaJSON), encoded(t, rec)))
	require.True(t, slices.Contains(strings.Split(string(text), "\n"), strings.TrimSpace(lineOf(t, more("c")))))
	validateWith(t, JournalSchemaJSON, lineOf(t, more("c")))
}

func lineOf(t *testing.T, f AddedRound) string {
	t.Helper()
	f.Cases[0].Verified.State = NotVerified
	text, err := f.Line(begun().Record.Run)
	require.NoError(t, err)
	return string(text)
}

// A journal in which cases were added that cannot be is refused.
func TestDamagedAddedCases(t *testing.T) {
	done := more("c")
	done.Cases[0].Status = OK
	for says, f := range map[string]AddedRound{
		"the case b is planned twice":                     more("b"),
		"the planned case c already has a result":         done,
		`a round was added for "fun"`:                     {Reason: "fun", Cases: more("c").Cases},
		`line 6: the planned case c already has a result`: done,
	} {
		text, err := joined(journalOf(t, begun(), parts()...), begun().Record.Run, f)
		require.NoError(t, err)
		_, err = ReadJournal(text)
		require.ErrorContains(t, err, says)
	}
	text, err := joined(journalOf(t, begun()), begun().Record.Run, taken("c", 0))
	require.NoError(t, err)
	_, err = ReadJournal(text)
	require.ErrorContains(t, err, "not planned", "a part may not come before its case")
}
