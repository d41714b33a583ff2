// Package suite runs a set of zbench's commands as one command. A suite is a file of rows. A row has a
// command line, the figures to read from its result, and the figures that others published.
//
//  1. [Read] reads a suite. [Shipped] returns the text of one of zbench's own suites.
//  2. The caller runs each row and passes the row's result on as a [Result].
//  3. [Row.Outcome] reads the row's figures and compares them. [Document] has all rows.
package suite

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"zbench/bench/answers/gate"
	"zbench/bench/base/pattern"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/spell"
	"zbench/bench/base/unit"
)

// Suite is a set of rows in the order in which they run.
type Suite struct {
	// Name is the name of the suite. About describes its purpose in a few words.
	Name  string `yaml:"name"`
	About string `yaml:"about"`
	Rows  []Row  `yaml:"rows"`
}

// Row is one command of a suite.
type Row struct {
	// Name is unique in the suite and names the folder of the result. Title is for people.
	Name  string `yaml:"name"`
	Title string `yaml:"title"`
	// Run is the command line after the word "zbench". WithoutGPU replaces Run if there is no GPU.
	Run        string `yaml:"run"`
	WithoutGPU string `yaml:"without_gpu"`
	// Nodes is "all" for a command on all nodes of the suite, and "one" for a command on one node; empty
	// for a command without nodes.
	Nodes string `yaml:"nodes"`
	// Chart is the beginning of the name of the chart to show. If it is empty, the first chart of the
	// result is shown.
	Chart   string   `yaml:"chart"`
	Figures []Figure `yaml:"figures"`
}

// Figure is one figure of a row's result. It has exactly one of Pick, Finding and Rule.
type Figure struct {
	// Name of the figure for people.
	What string `yaml:"what"`
	// Pick selects cases and a metric, in the form of gate.PickGrammar. The figure is the metric of the
	// best selected case. With Over, the figure is divided by the metric of the best case that Over
	// selects. With Knee, the figure is the size from which the metric stays within 10 % of its value at
	// the largest size.
	Pick string `yaml:"pick"`
	Over string `yaml:"over"`
	Knee bool   `yaml:"knee"`
	// Finding is the code of findings. Their text is the figure.
	Finding string `yaml:"finding"`
	// Rule is the name of a rule of this package.
	Rule string `yaml:"rule"`
	// Published are the figures that others published.
	Published []Published `yaml:"published"`

	pick, over *gate.Pick
}

// Published is a figure from another source.
type Published struct {
	// Value in base units: bytes per second, operations per second, bytes, operations, or a ratio.
	Value float64 `yaml:"value" json:"value"`
	// Of describes what was measured.
	Of string `yaml:"of" json:"of"`
	// Source names the publication.
	Source string `yaml:"source" json:"source"`
	// Date of the publication; if it has no date, the date on which it was read.
	Date string `yaml:"date" json:"date"`
	// SecondHand is true for a claim that is known only from what others say of the source. Such a claim
	// is shown but not compared. Absent if false.
	SecondHand bool `yaml:"second_hand" json:"second_hand,omitempty"`
}

//go:embed data/*.yaml
var shipped embed.FS

// Names returns the names of the shipped suites.
func Names() []string {
	entries, _ := shipped.ReadDir("data") // an embedded folder can always be read
	var out []string
	for _, e := range entries {
		out = append(out, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return out
}

// Shipped returns the text of a shipped suite; the error is a spell.Unknown.
func Shipped(name string) ([]byte, error) {
	own, err := spell.Own("suite", Names(), name)
	if err != nil {
		return nil, err
	}
	return shipped.ReadFile("data/" + own + ".yaml")
}

// The values of Row.Nodes.
const (
	AllNodes = "all"
	OneNode  = "one"
)

var rowName = pattern.New(`^[a-z0-9][a-z0-9-]*$`)

// Read reads a suite for a number of nodes. names are the kernels that its figures may name besides
// collectives. An error names the row.
func Read(text []byte, nodes int, names ...string) (*Suite, error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	var s Suite
	if err := d.Decode(&s); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("it is empty")
		}
		return nil, fmt.Errorf("it is no suite: %w", err)
	}
	if !rowName.MatchString(s.Name) || len(s.Rows) == 0 {
		return nil, fmt.Errorf("the suite needs a name of small letters, digits and dashes, and rows: its name is %q", s.Name)
	}
	seen := map[string]bool{}
	for i := range s.Rows {
		r := &s.Rows[i]
		err := r.check()
		for j := range r.Figures {
			if wrong := r.Figures[j].fill(r.On(nodes), names); err == nil && wrong != nil {
				err = fmt.Errorf("figure %d, %q: %w", j+1, r.Figures[j].What, wrong)
			}
		}
		if seen[r.Name] {
			err = errors.New("an earlier row has this name")
		}
		if err != nil {
			return nil, fmt.Errorf("row %d, %q: %w", i+1, r.Name, err)
		}
		seen[r.Name] = true
	}
	return &s, nil
}

// owned are the flags that the suite sets itself.
var owned = []string{"--out", "--resume", "--nodes", "--force"}

func (r *Row) check() error {
	switch {
	case !rowName.MatchString(r.Name):
		return errors.New("its name has other characters than small letters, digits and dashes")
	case r.Title == "" || strings.TrimSpace(r.Run) == "":
		return errors.New("it needs a title, and run: the command line behind zbench")
	case !slices.Contains([]string{"", OneNode, AllNodes}, r.Nodes):
		return fmt.Errorf("nodes is %q, not %s or %s", r.Nodes, OneNode, AllNodes)
	}
	for _, line := range []string{r.Run, r.WithoutGPU} {
		for i, word := range strings.Fields(line) {
			name, _, _ := strings.Cut(word, "=")
			switch {
			case slices.Contains(owned, name):
				return fmt.Errorf("leave %s out of run: the suite sets it", name)
			case i == 0 && word == "suite":
				return errors.New("a suite cannot run a suite")
			}
		}
	}
	for _, hole := range placeholder.FindAllString(r.Run+r.WithoutGPU, -1) {
		if !slices.Contains(placeholders, hole) {
			return fmt.Errorf("%s is unknown: there are %s", hole, strings.Join(placeholders, ", "))
		}
	}
	return nil
}

// fill checks a figure, and fills in its number of nodes.
func (f *Figure) fill(nodes int, names []string) (err error) {
	switch {
	case f.What == "":
		return errors.New("it needs what: the figure in a few words")
	case slice.Count([]string{f.Pick, f.Finding, f.Rule}, func(s string) bool { return s != "" }) != 1:
		return errors.New("give one of pick, finding and rule")
	case f.Pick == "" && (f.Over != "" || f.Knee), f.Over != "" && f.Knee:
		return errors.New("over and knee belong to a pick, and exclude each other")
	case slices.ContainsFunc(f.Published, func(p Published) bool { return p.Of == "" || p.Source == "" || p.Date == "" || !(p.Value > 0) }):
		return errors.New("a published figure needs its value in base units, of, source and date")
	}
	number := strings.NewReplacer(nodesHole+" nodes", unit.Count(nodes, "node"), nodesHole, strconv.Itoa(nodes))
	f.What = plain.Line(number.Replace(f.What))
	if f.Rule != "" {
		_, err = spell.Own("rule", ruleNames(), f.Rule)
	}
	if f.Pick != "" {
		f.pick, err = gate.ParsePick(number.Replace(f.Pick), names...)
	}
	if f.Over != "" && err == nil {
		f.over, err = gate.ParsePick(number.Replace(f.Over), names...)
	}
	return err
}

// The placeholders in a suite's texts. They stand for the number of nodes, for the powers of two below
// this number followed by the number, for the folder of this suite's rows, and for the folder of an
// earlier suite's rows.
const (
	nodesHole  = "{nodes}"
	powersHole = "{powers}"
	rowsHole   = "{rows}"
	beforeHole = "{before}"
)

var (
	placeholder  = pattern.New(`\{[^}]*\}`)
	placeholders = []string{nodesHole, powersHole, rowsHole, beforeHole}
)

// World holds the values of the placeholders.
type World struct {
	// Nodes is the number of nodes of the suite.
	Nodes int
	// GPU is true if the rows run on hardware.
	GPU bool
	// Rows is the folder of this suite's results. Before is the folder of an earlier suite's results;
	// empty if there is none.
	Rows, Before string
}

// powers lists the powers of two below n, and n: 1, 2, 4, …, n.
func powers(n int) string {
	var out []string
	for k := 1; k < n; k *= 2 {
		out = append(out, strconv.Itoa(k))
	}
	return strings.Join(append(out, strconv.Itoa(n)), ",")
}

// On returns the number of nodes of the row in a suite on so many nodes.
func (r *Row) On(nodes int) int {
	if r.Nodes == OneNode {
		return 1
	}
	return nodes
}

// Args returns the words of the row's command line. If the row cannot run, `why` is the reason.
func (r *Row) Args(w World) (args []string, why string) {
	line := r.Run
	if !w.GPU && r.WithoutGPU != "" {
		line = r.WithoutGPU
	}
	if w.Before == "" && strings.Contains(line, beforeHole) {
		return nil, "there is no earlier suite to compare with: give its folder to --before"
	}
	nodes := r.On(w.Nodes)
	holes := strings.NewReplacer(nodesHole, strconv.Itoa(nodes), powersHole, powers(nodes), rowsHole, w.Rows, beforeHole, w.Before)
	for word := range strings.FieldsSeq(line) {
		args = append(args, holes.Replace(word))
	}
	return args, ""
}
