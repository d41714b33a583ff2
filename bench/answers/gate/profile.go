package gate

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"zbench/bench/base/finding"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/spell"
	"zbench/bench/base/unit"
	"zbench/bench/hardware/flush"
	"zbench/bench/run/record"
)

// Profile is a named list of thresholds for one kind of hardware, each with its source.
type Profile struct {
	Name  string `yaml:"name"`
	Title string `yaml:"title"`
	// GPU is the GPU's name. Nodes and Ranks are the size of the world.
	GPU        string      `yaml:"gpu"`
	Nodes      int         `yaml:"nodes"`
	Ranks      int         `yaml:"ranks"`
	Thresholds []Published `yaml:"thresholds"`
}

// Published is a published threshold. It holds for library versions from `From` on that are older than `Before`. An
// empty version is no bound.
type Published struct {
	Require string `yaml:"require"`
	Source  string `yaml:"source"`
	From    string `yaml:"from"`
	Before  string `yaml:"before"`
}

// Era is a change in the meaning of one library's times: an algorithm that became the default in a
// version, or a setting.
type Era struct {
	Name string `yaml:"name"`
	// Collective is empty if all collectives are affected.
	Collective string `yaml:"collective"`
	// GPUs are the affected GPUs; empty means all.
	GPUs []string `yaml:"gpus"`
	// NodesFrom and NodesTo bound the number of nodes. BytesTo bounds the size. 0 is no bound.
	NodesFrom int   `yaml:"nodes_from"`
	NodesTo   int   `yaml:"nodes_to"`
	BytesTo   int64 `yaml:"bytes_to"`
	// From is the first version of RCCL with the algorithm; empty for a setting.
	From string `yaml:"from"`
	// Variables are the environment variables that control the algorithm or the setting, the newest name first. The
	// first variable that is set counts; 0 turns an algorithm off.
	Variables []string `yaml:"variables"`
	Source    string   `yaml:"source"`
}

//go:embed data/profiles.yaml
var profileText []byte

// table is the data file, read on first use.
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

// Profiles returns all acceptance profiles.
func Profiles() []Profile { return slices.Clone(table().Profiles) }

// Eras returns the known changes of algorithm.
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

// Evaluate judges a record by the profile. A threshold is not checked if the hardware is different, the times are
// simulated, or the figure is of other library versions.
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

// `unfit` returns the reason why the profile does not apply to the record; empty if the profile applies.
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

// isGPU reports whether `name`, as a driver prints it, names the GPU `gpu`. One word of the name must be, for example,
// MI300X.
func isGPU(name, gpu string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(name, func(r rune) bool { return r == ' ' || r == '_' }), func(w string) bool { return strings.EqualFold(w, gpu) })
}

// `outside` returns the reason why the figure does not apply to the record's library; empty if the figure applies.
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

// Library returns the record's version of RCCL; empty if unknown.
func Library(rec *record.Record) string {
	return slice.First(rec.Source.Libraries, func(l record.Library) bool { return strings.Contains(strings.ToLower(l.Name), "rccl") }).Version
}

// Mixed returns a sentence for each era in which records with affected cases differ from the first record. `settings`
// has the differences that a variable makes. `defaults` has the differences that the library's version makes. An
// unknown state is no difference.
func Mixed(names []string, recs []*record.Record) (settings, defaults []string) {
	for _, e := range table().Eras {
		seen := []string{"", e.state(recs[0])}
		for i, rec := range recs {
			if state := e.state(rec); seen[1] != "" && !slices.Contains(seen, state) && e.touches(recs[0]) && e.touches(rec) {
				seen = append(seen, state)
				into := &defaults
				if e.From == "" || e.set(recs[0]) != e.set(rec) {
					into = &settings
				}
				*into = append(*into, fmt.Sprintf("%s and %s differ in %s (%s): %s, %s", names[0], names[i], e.Name, e.setBy(), seen[1], state))
			}
		}
	}
	return settings, defaults
}

// set returns the value of the setting in a record's variables; empty means the default.
func (e *Era) set(rec *record.Record) (value string) {
	for _, name := range e.Variables {
		value = cmp.Or(value, rec.Source.Environment[name])
	}
	return value
}

// setBy names the variable or version that decides the era.
func (e *Era) setBy() string {
	var by []string
	if e.From != "" {
		by = append(by, "default from RCCL "+e.From+" on")
	}
	if e.BytesTo > 0 {
		by = append(by, "up to "+unit.Bytes(e.BytesTo))
	}
	return strings.Join(append(by, e.Variables...), ", ")
}

// state returns the era's state in a record: on, off, or a value. The state is empty if it is unknown. It is unknown
// for a log, for example, because a log does not have the variables.
func (e *Era) state(rec *record.Record) string {
	env := func(name string) string { return rec.Source.Environment[name] }
	version, set := Library(rec), e.set(rec)
	switch {
	case rec.Simulated, version == "", e.From == "" && rec.Source.Kind != record.Measured:
		return ""
	case e.Variables != nil && e.Variables[0] == flush.Variable:
		switch state, _ := flush.Of(version, record.Pollara(rec.World.NICs), env); {
		case state == flush.Unused, state == flush.Unknown && set == "":
			return ""
		case state == flush.Off:
			return "off"
		case env(flush.Ordering) == "0":
			return "on, with " + flush.Ordering + "=0"
		}
		return "on" // or requested, over an unknown transport
	case e.From == "":
		return cmp.Or(set, "not set")
	case older(version, e.From), set == "0":
		return "off"
	}
	return "on"
}

// `touches` reports whether the era affects a case of the record that ended ok.
func (e *Era) touches(rec *record.Record) bool {
	gpu := rec.World.GPU
	concerned := gpu == "" || len(e.GPUs) == 0 || slices.ContainsFunc(e.GPUs, func(own string) bool { return isGPU(gpu, own) })
	return concerned && slices.ContainsFunc(rec.Results, func(r record.Result) bool {
		nodes := cmp.Or(r.Nodes, rec.World.Nodes)
		return r.Status == record.OK && (e.Collective == "" || r.Collective == e.Collective) &&
			nodes >= e.NodesFrom && (e.NodesTo == 0 || nodes <= e.NodesTo) && (e.BytesTo == 0 || r.Bytes <= e.BytesTo)
	})
}

// `older` compares versions by their leading numbers: 2.9 is older than 2.28.3.
func older(a, b string) bool { return plain.Version(a, b) < 0 }
