package rails

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/finding"
	"zbench/bench/base/jsonfile"
	"zbench/bench/base/pattern"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/show/document"
)

// Schema is the version of rails.json. Rules is the version of the rules that make its findings.
const (
	Schema = "zbench.rails/1"
	Rules  = 1
)

// Kinds of Source.
const (
	OfMatrix = "matrix"
	OfLogs   = "logs"
	OfTimes  = "times"
	Measured = "measured"
)

// Kinds returns all kinds of Source.
func Kinds() []string { return []string{OfMatrix, OfLogs, OfTimes, Measured} }

// Document is the content of rails.json. Names are taken from the input.
type Document struct {
	// Version of the format.
	Schema string `json:"schema"`
	// Kind of the input: matrix, logs, times, or measured by zbench itself.
	Kind string `json:"kind"`
	// File is the base name of the input; empty if zbench measured.
	File string `json:"file"`
	// Survey describes zbench's own measurement; absent for data from elsewhere.
	Survey *Survey `json:"survey,omitempty"`
	// State is healthy, faulty, unclear or not_checked.
	State finding.State `json:"state"`
	// Reference describes the values for comparison; empty if there are none.
	Reference string `json:"reference"`
	// Limit is the smallest named loss as a share, 0 to 1; 0 is unknown.
	Limit float64 `json:"limit" jsonschema:"maximum=1"`
	// Findings are the named components, the worst first.
	Findings []NamedSlow `json:"findings"`
	// Questions are observations whose cause the data cannot decide.
	Questions []NamedQuestion `json:"questions"`
	// Ranking lists all components, the worst first.
	Ranking []NamedRank `json:"ranking"`
	// Unchecked lists the parts that were not judged.
	Unchecked []string `json:"unchecked"`
	// Notes list the ignored parts of the input and other remarks.
	Notes []string `json:"notes"`
	// Pass are compared nodes without a finding or question.
	Pass []string `json:"pass"`
	// Fail are the nodes with a finding.
	Fail []string `json:"fail"`
	// Unclear are the nodes that are candidates of questions.
	Unclear []string `json:"unclear"`
	// Heats are the maps of lost shares; none if there are no pairs.
	Heats []document.HeatMap `json:"-"`
	// Judgement has the result of the measurement as findings.
	Judgement finding.Judgement `json:"judgement"`
	// Pairs are the rates between the GPUs of a node, each way, in bytes per second; none for data
	// from elsewhere.
	Pairs [][]float64 `json:"-"`
	// `compared` states how many parts of each class had peers: the scope of an OK.
	compared []string
}

// NamedSlow is a slow component with its name.
type NamedSlow struct {
	// Name for people.
	Name string `json:"name"`
	// Part is the kind of the component: xgmi_link, gpu, rail, node, leaf, path or rank.
	Part Part `json:"part"`
	// Nodes are the names of the component's nodes: the nodes behind a leaf, or both ends of a path; empty
	// if unknown.
	Nodes []string `json:"nodes"`
	// Lost is the lost share of bandwidth, 0 to 1. For a rank it is the share of a collective's time that
	// others wait.
	Lost float64 `json:"lost" jsonschema:"maximum=1"`
	// Intermittent is true for a component that is not always slow.
	Intermittent bool `json:"intermittent"`
	// Level is the confidence as a word: high, medium or low.
	Level string `json:"level"`
	// Confidence estimates the probability that this component, not its partners, is slow, 0 to 1.
	Confidence float64 `json:"confidence" jsonschema:"maximum=1"`
	// Reasons are sentences for people.
	Reasons []string `json:"reasons"`
}

// NamedQuestion describes what the data cannot decide.
type NamedQuestion struct {
	// The observation, in words.
	What string `json:"what"`
	// Candidates are the components that may explain the observation.
	Candidates []string `json:"candidates"`
	// Lost is the lost share of bandwidth, 0 to 1.
	Lost float64 `json:"lost" jsonschema:"maximum=1"`
	// Next is the step that would decide the question.
	Next string `json:"next"`
}

// NamedRank is a component with its loss.
type NamedRank struct {
	// Name for people.
	Name string `json:"name"`
	// Lost is the lost share of bandwidth, 0 to 1. For a rank it is the share of a collective's time that
	// others wait.
	Lost float64 `json:"lost" jsonschema:"maximum=1"`
	// Slow is the number of slow pairs among All. For a rank it is the number of collectives at which the
	// rank arrived last.
	Slow int `json:"slow"`
	// All is the number of pairs with healthy partners. For a rank it is the number of the rank's
	// collectives.
	All int `json:"all"`
}

// `names` formats the names of components.
type names struct {
	ends  Ends
	hosts []string
	// `leaves` are the names of leaf switches by rail and number.
	leaves [][]string
}

// OfVerdict makes the document of a matrix.
func OfVerdict(kind, file string, m *Matrix, v *Verdict, notes []string) *Document {
	d := documentOf(kind, file, v, names{ends: m.Ends, hosts: m.Nodes}, notes)
	d.Limit = max(v.NetworkLimit, v.LinkLimit)
	d.heat("map", "Row to column, share of the median's bandwidth lost", m.Names, m.Names, m.Losses(), v.NetworkLimit)
	d.sort(m.Nodes, v)
	return d
}

// OfLateness makes the document of a job's times.
func OfLateness(file string, t *Times, l *Lateness) *Document {
	d := documentOf(OfTimes, file, &l.Verdict, names{hosts: t.Hosts}, nil)
	d.sort(t.Hosts, &l.Verdict)
	if l.Typical > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("%d collectives compared, median duration %.3g µs", l.Collectives, 1e6*l.Typical))
	}
	if l.State == finding.Healthy {
		d.Notes = append(d.Notes, fmt.Sprintf("a rank that arrives last at %d of them would be named", l.Enough))
		d.Notes = append(d.Notes, "a slow link delays all ranks alike: it does not show in these times; measure pairs for that")
	}
	return d
}

func documentOf(kind, file string, v *Verdict, n names, notes []string) *Document {
	d := &Document{
		Schema: Schema, Kind: kind, File: file, State: v.State, Reference: v.Reference,
		Unchecked: jsonfile.Filled(v.Unchecked), Notes: jsonfile.Filled(notes),
		Findings: []NamedSlow{}, Questions: []NamedQuestion{}, Ranking: []NamedRank{},
	}
	for _, c := range v.Compared {
		d.compared = append(d.compared, fmt.Sprintf("%d %s", len(c.Figures), c.Class))
	}
	for _, f := range v.Findings {
		d.Findings = append(d.Findings, NamedSlow{n.of(f.Component), f.Component.Part, n.nodes(f), f.Lost, f.Intermittent, Level(f.Confidence), f.Confidence, jsonfile.Filled(f.Reasons)})
	}
	for _, q := range v.Questions {
		d.Questions = append(d.Questions, NamedQuestion{q.What, jsonfile.Filled(slice.Map(q.Candidates, n.of)), q.Lost, q.Next})
	}
	for _, c := range v.Cleared {
		d.Notes = append(d.Notes, fmt.Sprintf("%s is not named: %s", n.of(c.Component), c.Why))
	}
	for _, r := range v.Ranking {
		d.Ranking = append(d.Ranking, NamedRank{n.of(r.Component), r.Lost, r.Slow, r.All})
	}
	return d
}

// sort lists the passed, the failed and the unclear nodes.
func (d *Document) sort(nodes []string, v *Verdict) {
	d.Pass, d.Fail, d.Unclear = []string{}, []string{}, []string{}
	state, doubted := v.standing(), v.doubted()
	for i, name := range nodes {
		switch {
		case name == "":
		case state[i] == fails:
			d.Fail = append(d.Fail, name)
		case state[i] == unclear || doubted || v.State == finding.NotChecked:
			d.Unclear = append(d.Unclear, name)
		default:
			d.Pass = append(d.Pass, name)
		}
	}
	d.noNames()
}

// WriteJSON writes the document.
func (d *Document) WriteJSON(w io.Writer) error {
	c := *d
	c.Judgement = finding.Judgement{Rules: Rules, State: d.State.General(), Findings: d.Verdict()}
	return jsonfile.Write(w, "rails.json", c)
}

// Percent formats a share.
func Percent(share float64) string {
	if math.IsNaN(share) {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

// literal matches names that srun reads literally. srun expands [0-7] and host*4, ends a name at a comma or
// a space, and reads # as the start of a comment.
var literal = pattern.New(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)

// Lines returns names, one per line, as srun --exclude reads them from a file. A name that srun
// would not take literally is quoted in a comment.
func Lines(names []string) string {
	var b strings.Builder
	for _, n := range names {
		if !literal.MatchString(n) {
			n = "# no name for srun: " + strconv.QuoteToASCII(n)
		}
		b.WriteString(n + "\n")
	}
	return b.String()
}

// noNames notes the nodes that cannot be given to srun by name.
func (d *Document) noNames() {
	for _, n := range slices.Concat(d.Fail, d.Unclear, d.Pass) {
		if !literal.MatchString(n) {
			d.Notes = append(d.Notes, "srun does not take every node's name literally: fail.txt, unclear.txt and pass.txt have such names as comments, the first is "+plain.Line(n))
			return
		}
	}
}
