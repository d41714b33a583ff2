// Package envelope removes the text that terminals, launchers and loggers add to lines of a log. A
// [Cleaner] learns the text before a table's column names and recognises other lines with a prefix
// of the same shape.
package envelope

import (
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/pattern"
)

var (
	ansi = pattern.New(`\x1b(\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(\x07|\x1b\\))`)
	// labels are the prefixes of mpirun --tag-output and srun --label. The submatch is the process
	// number.
	labels = []*pattern.Pattern{
		pattern.New(`^` + labelRE.String()),
		pattern.New(`^\s*(\d+): `),
		pattern.New(`^\s*(\d+):$`),
	}
)

// Line is a clean line.
type Line struct {
	Text string
	// Whole is the line with its envelope, or empty if the line has no envelope.
	Whole string
	// Stream is the launcher's label ("1,0", "3"), which separates interleaved processes. It is
	// empty if the line has no label.
	Stream string
}

// shown returns a line as a terminal shows it.
func shown(raw string) string {
	t := strings.TrimPrefix(raw, "\ufeff")
	t = strings.TrimRight(t, "\r")
	// A progress display overwrites its line. The text is the last content of the line.
	if i := strings.LastIndexByte(t, '\r'); i >= 0 {
		t = t[i+1:]
	}
	if strings.ContainsAny(t, "\x1b\x00") {
		t = strings.ReplaceAll(ansi.ReplaceAllString(t, ""), "\x00", "")
	}
	if strings.Contains(t, "\u00a0") { // copied from a web page
		t = strings.ReplaceAll(t, "\u00a0", " ")
	}
	return expandTabs(t)
}

// labelRE is the label of mpirun --tag-output, after the optional time of --timestamp-output.
// mpirun writes it in front of each write of a process, which may be a whole line or a part of a
// line.
var labelRE = pattern.New(`(?:[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4})?\[(?:[^\[\]@\s]*@)?(\d+,\d+)\]<std(?:out|err|diag)>:?`)

// unlabel removes labels inside a line if they name the same process as the label at the beginning
// of the line.
func (l *Line) unlabel() {
	at := labelRE.FindAllStringSubmatchIndex(l.Text, -1)
	if len(at) < 2 || at[0][0] != 0 {
		return
	}
	whole, of := "", func(m []int) string { return l.Text[m[2]:m[1]] }
	for i, m := range at[1:] {
		if of(m) != of(at[0]) {
			return
		}
		whole += l.Text[at[i][1]:m[0]]
	}
	l.Text = l.Text[:at[0][1]] + whole + l.Text[at[len(at)-1][1]:]
}

// Cleaner removes the prefixes of launchers and loggers. Names returns the text in front of a
// line's column names, or empty text if the line has none.
type Cleaner struct {
	Names     func(text string) string
	envelopes []envelope
	numbers   numbers
}

// numbers describes line numbers in front of lines, as grep -n writes them: "26:". They look like
// labels of processes.
type numbers struct {
	on   bool
	next int
}

// If the first lines of head are numbered consecutively, method `of` stores that the log is
// numbered.
func (n *numbers) of(head string) {
	const enough = 5
	lines := strings.SplitN(head, "\n", enough)
	for i, l := range lines[:len(lines)-1] {
		k, _, ok := numbered(l)
		if i == 0 {
			n.next = k
		}
		if n.on = ok && k == n.next+i && len(lines) > 2; !n.on {
			return
		}
	}
}

// numbered splits a line into its number and the rest.
func numbered(text string) (k int, rest string, ok bool) {
	number, rest, _ := strings.Cut(text, ":")
	k, err := strconv.Atoi(strings.TrimLeft(number, " "))
	return k, rest, err == nil
}

// Method `without` removes a line's number. The first line that breaks the sequence ends the
// removal.
func (n *numbers) without(text string) string {
	if !n.on {
		return text
	}
	k, rest, ok := numbered(text)
	if n.on = ok && k == n.next; !n.on {
		return text
	}
	n.next++
	return strings.TrimPrefix(rest, " ")
}

// Clean returns a line without its launcher's label and its envelope.
func (c *Cleaner) Clean(raw string) Line {
	l := Line{Text: c.numbers.without(shown(raw))}
	if strings.Contains(l.Text, "]<std") {
		l.unlabel()
	}
	l.unmark()
	if text := strings.Trim(l.Text, " "); isMarkdown(text) {
		l.Text = markdown.Replace(strings.Trim(strings.Join(strings.Fields(text), " "), "| "))
		return l
	}
	c.learn(c.Names(l.Text))
	for _, e := range c.envelopes {
		if rest, ok := e.open(l.Text); ok {
			l.Whole = l.Text
			l.Text = withoutRank(rest, l.Text[:strings.LastIndex(l.Text, rest)])
			l.unmark()
			break
		}
	}
	return l
}

// Labelled reports whether a line contains a label of mpirun.
func Labelled(text string) bool { return labelRE.MatchString(text) }

// isMarkdown reports whether a line is a row of a Markdown table, which is read as CSV.
func isMarkdown(text string) bool {
	return strings.HasPrefix(text, "|") && strings.Count(text, "|") > 4
}

// markdown turns a Markdown row into a CSV row. Spaces in names become underscores, because a space
// would end a prefix.
var markdown = strings.NewReplacer(" | ", ",", "| ", ",", " |", ",", "|", ",", ",", "", "*", "", "`", "", " ", "_")

// unmark removes launchers' labels from the beginning of a line. A line may have two labels: first
// the label of mpirun, then the label of the shell.
func (l *Line) unmark() {
	for range 2 {
		at := slices.IndexFunc(labels, func(re *pattern.Pattern) bool { return !plain(l.Text) && re.MatchString(l.Text) })
		if at < 0 {
			return
		}
		m := labels[at].FindStringSubmatchIndex(l.Text)
		l.Stream, l.Text = l.Text[m[2]:m[3]], l.Text[m[1]:]
	}
}

// plain reports whether a line certainly has no prefix. This is so if the line begins with a number
// sign, or with spaces, a number and another space. Almost all lines begin in this way.
func plain(t string) bool {
	if t == "" || t[0] == '#' {
		return true
	}
	rest := strings.TrimLeft(t, " ")
	if len(rest) == len(t) || rest == "" || (rest[0] < '0' || rest[0] > '9') {
		return false
	}
	return strings.TrimLeft(rest, "0123456789") != "" && strings.TrimLeft(rest, "0123456789")[0] == ' '
}

// withoutRank removes the label "[0] " of mpiexec -prepend-rank inside a line. mpiexec puts this
// label directly in front of every write. A label after a space stays: it is a device number in the
// output of NCCL_DEBUG.
func withoutRank(t, label string) string {
	label = label[max(0, strings.LastIndexByte(label, '[')):]
	if len(label) < 4 || label[len(label)-1] != ' ' || strings.Trim(label[1:len(label)-2], "0123456789") != "" {
		return t
	}
	var b strings.Builder
	for {
		i := strings.Index(t, label)
		if i < 0 {
			return b.String() + t
		}
		b.WriteString(t[:i])
		if i == 0 || t[i-1] == ' ' {
			b.WriteString(label)
		}
		t = t[i+len(label):]
	}
}

// expandTabs expands each tab to the next multiple of eight columns.
func expandTabs(t string) string {
	if !strings.Contains(t, "\t") {
		return t
	}
	var b strings.Builder
	for i := range len(t) {
		if t[i] != '\t' {
			b.WriteByte(t[i])
			continue
		}
		b.WriteString("        "[b.Len()%8:])
	}
	return b.String()
}
