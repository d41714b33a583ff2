package peers

import (
	"slices"
	"strings"

	"zbench/bench/pattern"
)

var (
	ansi = pattern.New(`\x1b(\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(\x07|\x1b\\))`)
	// labels are the prefixes of mpirun --tag-output and srun --label; the
	// submatch is the process.
	labels = []*pattern.Pattern{
		pattern.New(`^` + labelRE.String()),
		pattern.New(`^\s*(\d+): `),
		pattern.New(`^\s*(\d+):$`),
	}
)

// shown is a line as a terminal shows it.
func shown(raw string) string {
	t := strings.TrimPrefix(raw, "\ufeff")
	t = strings.TrimRight(t, "\r")
	// A progress display overwrites its line; what it left last is the text.
	if i := strings.LastIndexByte(t, '\r'); i >= 0 {
		t = t[i+1:]
	}
	if strings.ContainsAny(t, "\x1b\x00") {
		t = strings.ReplaceAll(ansi.ReplaceAllString(t, ""), "\x00", "")
	}
	return expandTabs(t)
}

// labelRE is the label that mpirun --tag-output, with --timestamp-output before it, puts in front of
// whatever a process writes at once: a line, or a part of one.
var labelRE = pattern.New(`(?:[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4})?\[(?:[^\[\]@\s]*@)?(\d+,\d+)\]<std(?:out|err|diag)>:?`)

// unlabel removes labels from within a line, if they are of the process whose label stands before it.
func (l *line) unlabel() {
	at := labelRE.FindAllStringSubmatchIndex(l.text, -1)
	if len(at) < 2 || at[0][0] != 0 {
		return
	}
	whole, of := "", func(m []int) string { return l.text[m[2]:m[1]] }
	for i, m := range at[1:] {
		if of(m) != of(at[0]) {
			return
		}
		whole += l.text[at[i][1]:m[0]]
	}
	l.text = l.text[:at[0][1]] + whole + l.text[at[len(at)-1][1]:]
}

// cleaner removes what launchers and loggers put in front of lines. It knows a logger's text by the column
// names: whatever stands before those is an envelope, and lines begin with text of the same shape.
type cleaner struct{ envelopes []envelope }

// clean is a line without its launcher's label and its envelope.
func (c *cleaner) clean(l line) line {
	if strings.Contains(l.text, "]<std") {
		l.unlabel()
	}
	l.unmark()
	if text := strings.Trim(l.text, " "); strings.HasPrefix(text, "|") && strings.Count(text, "|") > 4 {
		// A row of a Markdown table is one of a CSV.
		l.text = markdown.Replace(strings.Trim(strings.Join(strings.Fields(text), " "), "| "))
		return l
	}
	if strings.Contains(l.text, "busbw") {
		c.learn(l.text)
	}
	for _, e := range c.envelopes {
		if rest, ok := e.open(l.text); ok {
			l.whole = l.text
			l.text = withoutRank(rest, l.text[:strings.LastIndex(l.text, rest)])
			l.unmark()
			break
		}
	}
	return l
}

// markdown makes a CSV's row of one of Markdown. No name has a space, which would end a prefix.
var markdown = strings.NewReplacer(" | ", ",", "| ", ",", " |", ",", "|", ",", ",", "", "*", "", "`", "", " ", "_")

// unmark removes launchers' labels from the beginning of a line. A process may have that of mpirun and, behind
// it, that of the shell's.
func (l *line) unmark() {
	for range 2 {
		at := slices.IndexFunc(labels, func(re *pattern.Pattern) bool { return !plain(l.text) && re.MatchString(l.text) })
		if at < 0 {
			return
		}
		m := labels[at].FindStringSubmatchIndex(l.text)
		l.stream, l.text = l.text[m[2]:m[3]], l.text[m[1]:]
	}
}

// plain reports whether a line certainly has no prefix, as almost all lines: it begins with a number
// sign, or with spaces and a number that a space follows.
func plain(t string) bool {
	if t == "" || t[0] == '#' {
		return true
	}
	rest := strings.TrimLeft(t, " ")
	if len(rest) == len(t) || rest == "" || !isDigit(rest[0]) {
		return false
	}
	return strings.TrimLeft(rest, "0123456789") != "" && strings.TrimLeft(rest, "0123456789")[0] == ' '
}

// withoutRank removes the label "[0] " of mpiexec -prepend-rank from within a line, where it stands in
// front of every part that was written at once, directly behind the part before. A label with a space
// before it stays: it is the number of a device in NCCL_DEBUG's output.
func withoutRank(t, label string) string {
	label = label[max(0, strings.LastIndexByte(label, '[')):]
	if len(label) < 4 || label[len(label)-1] != ' ' || !digits(label[1:len(label)-2]) {
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

// expandTabs puts every tab on the next multiple of eight columns.
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
