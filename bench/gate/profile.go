package gate

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"zbench/bench/finding"
	"zbench/bench/pattern"
	"zbench/bench/plain"
	"zbench/bench/record"
	"zbench/bench/slice"
	"zbench/bench/spell"
)

// Profile is a named list of thresholds for one kind of hardware, each with its source.
type Profile struct {
	Name  string `yaml:"name"`
	Title string `yaml:"title"`
	// GPU is the GPU's name, Nodes and Ranks the size of the world.
	GPU        string      `yaml:"gpu"`
	Nodes      int         `yaml:"nodes"`
	Ranks      int         `yaml:"ranks"`
	Thresholds []Published `yaml:"thresholds"`
}

// Published is a threshold that somebody published, and the library versions that it
// holds for: from From, before Before; empty is without bound.
type Published struct {
	Require string `yaml:"require"`
	Source  string `yaml:"source"`
	From    string `yaml:"from"`
	Before  string `yaml:"before"`
}

// Era is a change of a library's algorithm by default: figures from before and after
// are of different things.
type Era struct {
	Name       string   `yaml:"name"`
	Collective string   `yaml:"collective"`
	GPUs       []string `yaml:"gpus"`
	// NodesFrom and NodesTo bound the number of nodes, BytesTo the size; 0 is no bound.
	NodesFrom int   `yaml:"nodes_from"`
	NodesTo   int   `yaml:"nodes_to"`
	BytesTo   int64 `yaml:"bytes_to"`
	// From is the first version of RCCL with the algorithm.
	From   string `yaml:"from"`
	Source string `yaml:"source"`
}

//go:embed data/profiles.yaml
var profileText []byte

// table is the data file, read when it is first asked for.
var table = sync.OnceValue(func() file { return mustRead(profileText) })

type file struct {
	Eras     []Era     `yaml:"eras"`
	Profiles []Profile `yaml:"profiles"`
}

func mustRead(text []byte) file {
	var f file
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&f); err != nil {
		panic(fmt.Sprintf("gate: profiles.yaml: %v", err)) // embedded: a test reads it
	}
	return f
}

// Profiles are all acceptance profiles.
func Profiles() []Profile { return slices.Clone(table().Profiles) }

// Eras are the changes of algorithm that are known.
func Eras() []Era { return slices.Clone(table().Eras) }

// ProfileByName finds a profile in any spelling. The error is a [spell.Unknown].
func ProfileByName(name string) (*Profile, error) {
	names := slice.Map(table().Profiles, func(p Profile) string { return p.Name })
	own, err := spell.Own("acceptance profile", names, name)
	if err != nil {
		return nil, err
	}
	p := table().Profiles[slices.Index(names, own)]
	return &p, nil
}

// Evaluate judges a record by the profile. On other hardware, with simulated times and
// outside the library versions that a figure holds for, nothing is checked.
func (p *Profile) Evaluate(rec *record.Record) []Check {
	why := p.unfit(rec)
	out := make([]Check, len(p.Thresholds))
	for i, published := range p.Thresholds {
		t, err := Parse(published.Require)
		switch reason := published.outside(rec); {
		case err != nil: // a test parses them all
			out[i] = Check{Check: finding.Check{Name: published.Require, State: finding.NotChecked, Reason: err.Error()}}
		case why != "" || reason != "":
			out[i] = Check{Check: finding.Check{Name: t.Text, State: finding.NotChecked, Reason: strings.Trim(why+"; "+reason, "; ")}}
		default:
			out[i] = Evaluate(rec, []*Threshold{t})[0]
		}
		out[i].Source = published.Source
	}
	return out
}

// unfit is why the profile is of other hardware than the record; empty if it fits.
func (p *Profile) unfit(rec *record.Record) string {
	w := rec.World
	has := func(of int, one string) string {
		if of == 0 {
			return "an unknown number of " + one + "s"
		}
		return plain.Count(of, one)
	}
	switch {
	case rec.Simulated:
		return "the times are a model's: a simulation accepts no hardware"
	case w.GPU == "":
		return fmt.Sprintf("the record does not name its GPU; the profile is of %s", p.GPU)
	case !isGPU(w.GPU, p.GPU):
		return fmt.Sprintf("the profile is of %s, the record of %s", p.GPU, plain.Text(w.GPU))
	case w.Nodes != p.Nodes:
		return fmt.Sprintf("the profile is of %s, the record of %s", plain.Count(p.Nodes, "node"), has(w.Nodes, "node"))
	case w.Ranks != p.Ranks:
		return fmt.Sprintf("the profile is of %s, the record of %s", plain.Count(p.Ranks, "rank"), has(w.Ranks, "rank"))
	}
	return ""
}

// isGPU tells whether a driver's name is of the GPU: MI300X is a word of it.
func isGPU(name, gpu string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(name, func(r rune) bool { return r == ' ' || r == '_' }), func(w string) bool { return strings.EqualFold(w, gpu) })
}

// outside is why the record's library is not one that the figure holds for.
func (p *Published) outside(rec *record.Record) string {
	if p.From == "" && p.Before == "" {
		return ""
	}
	version := Library(rec)
	switch {
	case version == "":
		return "the record does not name its RCCL version, and the figure is of a range of versions"
	case p.From != "" && older(version, p.From):
		return fmt.Sprintf("the figure holds from RCCL %s on, the record is of %s", p.From, version)
	case p.Before != "" && !older(version, p.Before):
		return fmt.Sprintf("the figure holds before RCCL %s, the record is of %s", p.Before, version)
	}
	return ""
}

// Library is the version of the record's RCCL; empty where it is not known.
func Library(rec *record.Record) string {
	for _, l := range rec.Source.Libraries {
		if strings.Contains(strings.ToLower(l.Name), "rccl") {
			return l.Version
		}
	}
	return ""
}

// Crosses tells whether one of two versions has the era's algorithm and the other has
// not.
func (e *Era) Crosses(a, b string) bool { return older(a, e.From) != older(b, e.From) }

// older compares versions by their leading numbers: 2.9 is older than 2.28.3.
func older(a, b string) bool {
	return slices.Compare(numbers(a), numbers(b)) < 0
}

// leading finds the numbers with which a version begins.
var leading = pattern.New(`^\d+(\.\d+)*`)

// numbers are the numbers at the beginning of a version, without zeros at the end: 2.28.0-rc is 2, 28.
func numbers(version string) []int {
	var out []int
	for part := range strings.SplitSeq(leading.FindString(version), ".") {
		n, _ := strconv.Atoi(part)
		out = append(out, n)
	}
	for len(out) > 0 && out[len(out)-1] == 0 {
		out = out[:len(out)-1]
	}
	return out
}
