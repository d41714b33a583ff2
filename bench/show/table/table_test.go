package table

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func text(t require.TestingT, width int, made Table) string {
	var b bytes.Buffer
	require.NoError(t, Text(&b, width, made))
	return b.String()
}

func markdown(t require.TestingT, made Table) string {
	var b bytes.Buffer
	require.NoError(t, Markdown(&b, made))
	return b.String()
}

// halves has every part a table can have.
func halves() Table {
	return Table{
		Title: "a title", Rule: true, By: []string{"collective", "type"},
		Columns: []Column{
			{Name: "size", Right: true},
			{Name: "time", Right: true, Over: "out of place"},
			{Name: "busbw", Right: true, Over: "out of place"},
			{Name: "time", Right: true, Over: "in place", Long: "in-place time"},
			{Name: "busbw", Right: true, Over: "in place", Long: "in-place busbw"},
			{Name: "notes"},
		},
		Groups: []Group{
			{Cells: []string{"all_reduce", "float"}, Rows: []Row{
				{Cells: []string{"1 KiB", "10.25", "1.00", "9.75", "1.05", "skew"}}, {Cells: []string{"2 KiB", "10.50", "2.00", "–", "–", ""}},
			}},
			{Cells: []string{"broadcast", ""}, Note: "extrapolated", Rows: []Row{
				{Cells: []string{"1 KiB", "5.00", "1.00", "5.00", "1.00", "cold"}}, {Cells: []string{"2 KiB", "5.00", "2.00", "5.00", "2.00", ""}},
			}},
		},
		Notes: []string{"one two three four five six seven eight nine ten eleven twelve thirteen", "last"},
	}
}

func TestText(t *testing.T) {
	require.Equal(t, strings.TrimLeft(`
a title

        out of place  ── in place
  size   time  busbw  time  busbw  notes
─────────────────────────────────────────
 all_reduce  float
 1 KiB  10.25   1.00  9.75   1.05  skew
 2 KiB  10.50   2.00     –      –
─────────────────────────────────────────
 broadcast  extrapolated
 1 KiB   5.00   1.00  5.00   1.00  cold
 2 KiB   5.00   2.00  5.00   2.00

one two three four five six seven eight nine ten
    eleven twelve thirteen
last
`, "\n"), text(t, 50, halves()))
}

func TestMarkdown(t *testing.T) {
	require.Equal(t, strings.TrimLeft(`
**a title**

| collective | type  |  size |  time | busbw | in-place time | in-place busbw | notes              |
|:-----------|:------|------:|------:|------:|--------------:|---------------:|:-------------------|
| all_reduce | float | 1 KiB | 10.25 |  1.00 |          9.75 |           1.05 | skew               |
| all_reduce | float | 2 KiB | 10.50 |  2.00 |             – |              – |                    |
| broadcast  | –     | 1 KiB |  5.00 |  1.00 |          5.00 |           1.00 | extrapolated, cold |
| broadcast  | –     | 2 KiB |  5.00 |  2.00 |          5.00 |           2.00 | extrapolated       |

- one two three four five six seven eight nine ten eleven twelve thirteen
- last
`, "\n"), markdown(t, halves()))
}

// Without lines the columns stand two apart; several tables stand a line apart.
func TestPlainText(t *testing.T) {
	first := Of([]string{"NAME", "WHAT IT IS"}, []string{"float", "IEEE binary32"}, []string{"bfloat16", "8 bits of exponent"})
	second := Table{Indent: 2, Columns: []Column{{Name: "n", Right: true}, {Name: "step", Right: true}, {}}}
	second.Add("1", "10 ms", "use this")
	second.Add("100", "9 ms", "")
	require.Equal(t, strings.TrimLeft(`
NAME      WHAT IT IS
float     IEEE binary32
bfloat16  8 bits of exponent

    n   step
    1  10 ms  use this
  100   9 ms
`, "\n"), text(t, 80, first)+"\n"+text(t, 80, second))
}

// What is foreign stays in its cell: no line more, no column more, no sequence
// that a terminal interprets.
func TestForeignTextStaysInItsCell(t *testing.T) {
	wild := Of([]string{"a|b", "c"}, []string{"x\x1b[31m|y\nz", "<b>*q*"})
	require.Equal(t, 2, strings.Count(text(t, 80, wild), "\n"))
	require.NotContains(t, text(t, 80, wild), "\x1b")
	got := markdown(t, wild)
	require.Equal(t, 3, strings.Count(got, "\n"))
	require.Contains(t, got, `x \[31m\|y<br>z`)
	require.Contains(t, got, `&lt;b&gt;\*q\*`)
}

// A column's width is that of its text, whatever the environment calls the
// terminal's language.
func TestWidthsAreNotOfTheLocale(t *testing.T) {
	want := text(t, 80, halves())
	twwidth.SetEastAsian(true)
	require.Equal(t, want, text(t, 80, halves()))
}

// A wide letter takes two places, in a row and in what stands above it.
func TestWideLetters(t *testing.T) {
	made := Table{Columns: []Column{{Name: "size", Over: ""}, {Name: "time", Over: "one"}}, Rule: true}
	made.Add("大きい", "1")
	require.Equal(t, strings.TrimLeft(`
         one
 size    time
──────────────
 大きい  1
`, "\n"), text(t, 80, made))
}

// Every row takes one line, every column begins at one place, and notes keep to
// the width.
func TestTablesAlign(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-z0-9.×µ–]{1,9}`)
		columns := rapid.IntRange(1, 6).Draw(t, "columns")
		made := Table{Notes: []string{strings.Repeat("word ", 60)}}
		for range columns {
			made.Columns = append(made.Columns, Column{Name: word.Draw(t, "name"), Right: rapid.Bool().Draw(t, "right")})
		}
		rows := rapid.IntRange(1, 8).Draw(t, "rows")
		for range rows {
			var cells []string
			for range columns {
				cells = append(cells, word.Draw(t, "cell"))
			}
			made.Add(cells...)
		}
		lines := strings.Split(strings.TrimRight(text(t, 60, made), "\n"), "\n")
		for _, line := range lines {
			if strings.HasPrefix(strings.TrimSpace(line), "word") {
				require.LessOrEqual(t, len([]rune(line)), 60)
			}
		}
		lines = lines[:1+rows]
		left := 0
		for c := range columns {
			right := made.Width(c + 1)
			for i, line := range lines {
				cell := []rune(line + strings.Repeat(" ", right))[left : right-gap]
				want := made.Columns[c].Name
				if i > 0 {
					want = made.rows()[i-1][c]
				}
				require.Equal(t, want, strings.TrimSpace(string(cell)))
				if made.Columns[c].Right {
					require.True(t, strings.HasSuffix(string(cell), want))
				} else {
					require.True(t, strings.HasPrefix(string(cell), want))
				}
			}
			left = right
		}
	})
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestWriteFails(t *testing.T) {
	require.ErrorContains(t, Text(full{}, 80, halves()), "no space left")
	require.ErrorContains(t, Markdown(full{}, halves()), "no space left")
}
