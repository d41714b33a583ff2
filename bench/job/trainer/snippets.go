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

// Snippet is a setting in the form of one tool.
type Snippet struct {
	// Title is the name of the tool for people.
	Title string `json:"title"`
	// Language is the language of the text.
	Language string `json:"language"`
	// Text ends with a newline. Its first lines are comments that say where the setting comes from.
	Text string `json:"text"`
	// Comments are the comment lines if the language of the text has no comments; absent otherwise.
	Comments string `json:"comments,omitempty"`
}

// Lines returns the comments and the text for display, with an empty line between them.
func (s Snippet) Lines() string {
	if s.Comments == "" {
		return s.Text
	}
	return s.Comments + "\n" + s.Text
}

// Spelling is the input for a snippet.
type Spelling struct {
	// Setting is in elements.
	Setting int64
	Params  []Param
	Run     Run
	// Curve is the hash of the curves behind the setting.
	Curve string
	// Simulated is true if a model decided the setting. The snippet then begins with a warning.
	Simulated bool
	// FrontEnd is the user's name for the tool. The form of this tool comes first.
	FrontEnd string
	// Config has the user's settings from File, so that a snippet can name its additions; nil if
	// unknown.
	Config *Config
	File   string
}

// SimulatedMark begins a snippet that is not based on a measurement.
const SimulatedMark = "# SIMULATED"

// form is a way to write a trainer's setting, for one tool.
type form struct {
	title, language string
	write           func(s Spelling) string
}

// readable is a kind of file that can be read, or a part of such a file. title names it for people.
// sign is the text by which it is found.
type readable struct{ title, sign string }

// frontEnd is a tool that sets a trainer by keys of its own.
type frontEnd struct {
	// title is the title of its form.
	title string
	// names are its values of --framework, the usual one first.
	names []string
	// knob returns the key of the setting in its form.
	knob func(r Run) string
	// unset returns its default for the setting in elements; nil means that the trainer's default
	// applies.
	unset func(params []Param, r Run) int64
}

// Snippets writes the setting in every form of the trainer. The form of the requested front end
// comes first. ReadConfig can read the snippets.
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

// uncommented separates the comment lines from a text.
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

// frontEnd returns the front end with a name, or nil if the trainer has no such front end.
func (t Trainer) frontEnd(name string) *frontEnd {
	for i, f := range t.frontEnds {
		if _, is := spell.Match(f.names, name); is {
			return &t.frontEnds[i]
		}
	}
	return nil
}

// IsFrontEnd reports whether a name belongs to a front end of the trainer, and not to the trainer
// itself.
func (t Trainer) IsFrontEnd(name string) bool { return t.frontEnd(name) != nil }

// rankOf sorts the form of a front end before all others.
func rankOf(s Snippet, f *frontEnd) int {
	if s.Title == f.title {
		return 0
	}
	return 1
}

// KnobIn returns the key of the setting in the form with a title.
func (t Trainer) KnobIn(title string, r Run) string {
	for _, f := range t.frontEnds {
		if f.title == title {
			return f.knob(r)
		}
	}
	return cmp.Or(t.Flag, t.Knob)
}

// head says where a setting comes from, in comments that all forms share.
func (t Trainer) head(s Spelling) string {
	var b strings.Builder
	if s.Simulated {
		b.WriteString(SimulatedMark + ": a model decided the times behind this; measure on the cluster before you train with it\n")
	}
	fmt.Fprintf(&b, "# zbench: %d elements, unit=%s, n=%d, curve sha256=%s\n", s.Setting, t.Unit, s.Run.DP, s.Curve)
	return b.String()
}

// argument is a setting that a snippet writes. The field `has` is a function that reports whether
// the user's file already has the setting.
type argument struct {
	key, value string
	has        func(c *Config) bool
}

type arguments []argument

func (a *arguments) add(when bool, key, value string, has func(c *Config) bool) {
	if when {
		*a = append(*a, argument{key, value, has})
	}
}

// fresh returns a comment that names the settings of a snippet which the user's file lacks or sets
// differently. It is empty if no file was given. spell writes a key as the form spells it.
func (s Spelling) fresh(all arguments, spell func(key string) string) string {
	if s.Config == nil {
		return ""
	}
	lacks := slice.Where(all, func(a argument) bool { return !a.has(s.Config) })
	names := slice.Map(lacks, func(a argument) string { return spell(a.key) })
	file := strings.Trim(strconv.Quote(s.File), `"`) // a name may contain a newline
	if len(names) == 0 {
		return fmt.Sprintf("# nothing new: %s has all of this\n", file)
	}
	return fmt.Sprintf("# new or changed against %s: %s\n", file, strings.Join(names, ", "))
}

// bare returns a key unchanged. dashed writes a key as an argument of a command.
func bare(key string) string   { return key }
func dashed(key string) string { return "--" + strings.ReplaceAll(key, "_", "-") }

func isTrue(b *bool) bool                { return b != nil && *b }
func is[T comparable](p *T, want T) bool { return p != nil && *p == want }

// dtypes reports whether a file has the element types of the run.
func (r Run) dtypes(c *Config) bool {
	return c.ParamDtype == r.ParamDtype && c.GradDtype == r.GradDtype
}
