package trainer

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/base/spell"
)

// Snippet is a setting in one tool's form.
type Snippet struct {
	// Title is the tool's name for people.
	Title string `json:"title"`
	// Language of the text.
	Language string `json:"language"`
	// Text ends with a newline. Its first lines are comments about its origin.
	Text string `json:"text"`
	// Comments are lines about the text, if its language has no comments; absent otherwise.
	Comments string `json:"comments,omitempty"`
}

// Lines returns the comments and the text as shown, separately if they are separate.
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
	// FrontEnd is the user's name for the tool: its form comes first.
	FrontEnd string
	// Config has the user's settings in File: a snippet names its additions. nil if unknown.
	Config *Config
	File   string
}

// SimulatedMark begins a snippet without a measurement behind it.
const SimulatedMark = "# SIMULATED"

// form is a tool for which a trainer's setting is written.
type form struct {
	title, language string
	write           func(s Spelling) string
}

// readable is a file, or a part of one, that can be read. Title names it for people, sign the part
// that is searched.
type readable struct{ title, sign string }

// frontEnd is a tool that sets a trainer by keys of its own.
type frontEnd struct {
	// title is the title of its form.
	title string
	// names are the values of --framework, the usual one first.
	names []string
	// knob is the key of the setting in this form.
	knob func(r Run) string
	// unset is its own default of the setting in elements; nil means the trainer's.
	unset func(params []Param, r Run) int64
}

// Snippets writes the setting in every form of the trainer. ReadConfig can read them. The requested
// front end's form comes first.
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

// uncommented removes comment lines from a text.
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

// frontEnd returns the front end of that name; nil if it is not one of the trainer's.
func (t Trainer) frontEnd(name string) *frontEnd {
	for i, f := range t.frontEnds {
		if _, is := spell.Match(f.names, name); is {
			return &t.frontEnds[i]
		}
	}
	return nil
}

// IsFrontEnd reports whether a name belongs to a tool that sets the trainer, not to the trainer.
func (t Trainer) IsFrontEnd(name string) bool { return t.frontEnd(name) != nil }

// rankOf puts the form of a front end before all others.
func rankOf(s Snippet, f *frontEnd) int {
	if s.Title == f.title {
		return 0
	}
	return 1
}

// KnobIn returns the setting's key in the form of that title.
func (t Trainer) KnobIn(title string, r Run) string {
	for _, f := range t.frontEnds {
		if f.title == title {
			return f.knob(r)
		}
	}
	return cmp.Or(t.Flag, t.Knob)
}

// head states the origin of a setting, in the comments common to all forms.
func (t Trainer) head(s Spelling) string {
	var b strings.Builder
	if s.Simulated {
		b.WriteString(SimulatedMark + ": a model decided the times behind this; measure on the cluster before you train with it\n")
	}
	fmt.Fprintf(&b, "# zbench: %d elements, unit=%s, n=%d, curve sha256=%s\n", s.Setting, t.Unit, s.Run.DP, s.Curve)
	return b.String()
}

// argument is one setting that a snippet writes, and whether the file already has it.
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

// fresh returns a comment with the snippet's settings that the user's file lacks or sets
// differently; empty if no file was given. spell writes a key in the form's spelling.
func (s Spelling) fresh(all arguments, spell func(key string) string) string {
	if s.Config == nil {
		return ""
	}
	lacks := slice.Where(all, func(a argument) bool { return !a.has(s.Config) })
	names := slice.Map(lacks, func(a argument) string { return spell(a.key) })
	file := strings.Trim(strconv.Quote(s.File), `"`) // a name may contain a line end
	if len(names) == 0 {
		return fmt.Sprintf("# nothing new: %s has all of this\n", file)
	}
	return fmt.Sprintf("# new or changed against %s: %s\n", file, strings.Join(names, ", "))
}

// bare returns a key unchanged, dashed as an argument of a command.
func bare(key string) string   { return key }
func dashed(key string) string { return "--" + strings.ReplaceAll(key, "_", "-") }

func isTrue(b *bool) bool                { return b != nil && *b }
func is[T comparable](p *T, want T) bool { return p != nil && *p == want }

// dtypes reports whether a file has the run's element types.
func (r Run) dtypes(c *Config) bool {
	return c.ParamDtype == r.ParamDtype && c.GradDtype == r.GradDtype
}
