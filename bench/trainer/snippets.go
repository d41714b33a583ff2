package trainer

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/slice"
	"zbench/bench/spell"
)

// Snippet is a setting as one tool takes it.
type Snippet struct {
	// Title is the tool's name for people.
	Title string `json:"title"`
	// Language is what the text is written in.
	Language string `json:"language"`
	// Text ends with a newline. Its first lines are comments: what it is from.
	Text string `json:"text"`
	// Comments are lines about the text, if its language has no comments; absent otherwise.
	Comments string `json:"comments,omitempty"`
}

// Lines are the comments and the text as they are shown, apart where they are.
func (s Snippet) Lines() string {
	if s.Comments == "" {
		return s.Text
	}
	return s.Comments + "\n" + s.Text
}

// Spelling is the input of a snippet.
type Spelling struct {
	// Setting is in elements.
	Setting int64
	Params  []Param
	Run     Run
	// Curve is the hash of the curves behind the setting.
	Curve string
	// Simulated snippets begin with a warning.
	Simulated bool
	// FrontEnd is the name that the user gave: its form comes first.
	FrontEnd string
	// Config has the user's settings in File: a snippet names what it adds. nil if
	// unknown.
	Config *Config
	File   string
}

// SimulatedMark starts a snippet that rests on no measurement.
const SimulatedMark = "# SIMULATED"

// form is one tool a trainer's setting is written for.
type form struct {
	title, language string
	write           func(s Spelling) string
}

// readable is a file, or a part of one, that can be read. Title names it for people,
// sign says what of it is looked for.
type readable struct{ title, sign string }

// frontEnd is a tool that sets a trainer by keys of its own.
type frontEnd struct {
	// title is that of its form.
	title string
	// names are those of --framework, the usual one first.
	names []string
	// knob is its key of the setting.
	knob func(r Run) string
	// unset is the setting in elements where it sets none itself; nil is the trainer's.
	unset func(params []Param, r Run) int64
}

// Snippets writes the setting in every form of the trainer. ReadConfig can read them. The
// form of the front end that is asked for comes first.
func (t Trainer) Snippets(s Spelling) []Snippet {
	out := make([]Snippet, 0, len(t.forms))
	for _, f := range t.forms {
		n := Snippet{Title: f.title, Language: f.language, Text: t.head(s) + f.write(s)}
		if f.language == "json" {
			n.Text, n.Comments = uncommented(n.Text)
		}
		out = append(out, n)
	}
	if f := t.frontEnd(s.FrontEnd); f != nil {
		slices.SortStableFunc(out, func(a, b Snippet) int { return rankOf(a, f) - rankOf(b, f) })
	}
	return out
}

// uncommented takes the lines that are comments out of a text.
func uncommented(all string) (text, comments string) {
	for line := range strings.Lines(all) {
		if strings.HasPrefix(line, "#") {
			comments += line
		} else {
			text += line
		}
	}
	return text, comments
}

// frontEnd is the front end of that name; nil is none of the trainer's.
func (t Trainer) frontEnd(name string) *frontEnd {
	for i, f := range t.frontEnds {
		if _, is := spell.Match(f.names, name); is {
			return &t.frontEnds[i]
		}
	}
	return nil
}

// IsFrontEnd reports whether a name is that of a tool that sets the trainer, not its own.
func (t Trainer) IsFrontEnd(name string) bool { return t.frontEnd(name) != nil }

// rankOf puts the form of a front end before all others.
func rankOf(s Snippet, f *frontEnd) int {
	if s.Title == f.title {
		return 0
	}
	return 1
}

// KnobIn is the setting's key as the form of that title has it.
func (t Trainer) KnobIn(title string, r Run) string {
	for _, f := range t.frontEnds {
		if f.title == title {
			return f.knob(r)
		}
	}
	return cmp.Or(t.Flag, t.Knob)
}

// head states the origin of a setting, in the comments that all forms share.
func (t Trainer) head(s Spelling) string {
	var b strings.Builder
	if s.Simulated {
		b.WriteString(SimulatedMark + ": a model decided the times behind this; measure on the cluster before you train with it\n")
	}
	fmt.Fprintf(&b, "# zbench: %d elements, unit=%s, n=%d, curve sha256=%s\n", s.Setting, t.Unit, s.Run.DP, s.Curve)
	return b.String()
}

// argument is one setting that a snippet writes, and whether a file has it.
type argument struct {
	key, value string
	has        func(c *Config) bool
}

// arguments is a list of them.
type arguments []argument

func (a *arguments) add(when bool, key, value string, has func(c *Config) bool) {
	if when {
		*a = append(*a, argument{key, value, has})
	}
}

// fresh is a comment with the settings of a snippet that the user's file lacks or
// has otherwise; empty where no file was given. spell writes a key as the form does.
func (s Spelling) fresh(all arguments, spell func(key string) string) string {
	if s.Config == nil {
		return ""
	}
	lacks := slice.Where(all, func(a argument) bool { return !a.has(s.Config) })
	names := slice.Map(lacks, func(a argument) string { return spell(a.key) })
	file := strings.Trim(strconv.Quote(s.File), `"`) // a name may hold a line end
	if len(names) == 0 {
		return fmt.Sprintf("# nothing new: %s has all of this\n", file)
	}
	return fmt.Sprintf("# new or changed against %s: %s\n", file, strings.Join(names, ", "))
}

// bare spells a key as it is, dashed as an argument of a command.
func bare(key string) string   { return key }
func dashed(key string) string { return "--" + strings.ReplaceAll(key, "_", "-") }

func isTrue(b *bool) bool                { return b != nil && *b }
func is[T comparable](p *T, want T) bool { return p != nil && *p == want }

// dtypes reports whether a file has the run's element types.
func (r Run) dtypes(c *Config) bool {
	return c.ParamDtype == r.ParamDtype && c.GradDtype == r.GradDtype
}
