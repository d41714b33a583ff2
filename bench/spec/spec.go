// Package spec is the request: everything that one command was asked to do, in
// base units, as it stands in a record. Flags fill a [Spec], an engine runs it, a
// journal keeps it so that a sweep can be resumed without flags, and a file of it
// can be run again.
package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Schema names the version of the format.
const Schema = "zbench.spec/1"

// Collectives is the benchmark of `zbench collectives`.
const Collectives = "collectives"

// Spec is a request. Defaults are resolved: the same Spec asks for the same cases
// with any version that reads it.
type Spec struct {
	Schema string `json:"schema"`
	// Benchmark is what runs: collectives, hbm, rmsnorm, layernorm or muon.
	Benchmark string `json:"benchmark"`
	// Backend is the provider: loopback, rocm or cuda.
	Backend string `json:"backend"`
	// Fabric names the hardware that is simulated, or whose roofs and cache are
	// assumed.
	Fabric string `json:"fabric,omitempty"`
	World  World  `json:"world"`
	// Seed is of the simulated noise and of the data.
	Seed uint64 `json:"seed"`
	// Faults are planted into the simulation, as `zbench list faults` shows them.
	Faults []string `json:"faults,omitempty"`
	// Sweep is the sweep of collectives; null for another benchmark.
	Sweep *Sweep `json:"sweep,omitempty"`
	// Advice is the bucket size that is asked for; null where none is.
	Advice *Advice `json:"advice,omitempty"`
}

// Sweep is a sweep of collectives over message sizes, in rccl-tests' terms.
type Sweep struct {
	Collectives []string `json:"collectives"`
	MinBytes    int64    `json:"min_bytes"`
	MaxBytes    int64    `json:"max_bytes"`
	// Factor is between sizes; with StepBytes, which are added instead, it is 1.
	Factor    int    `json:"factor"`
	StepBytes int64  `json:"step_bytes,omitempty"`
	Dtype     string `json:"dtype"`
	Op        string `json:"op"`
	// InPlace lists what is run: false, true, or both.
	InPlace []bool `json:"in_place"`
	// Iterations is the number of launches in a burst, Warmup those before the
	// first one, Checks the launches whose result is verified.
	Iterations int `json:"iterations"`
	Warmup     int `json:"warmup"`
	Checks     int `json:"checks"`
	// GraphLaunches is how often a burst's launches, captured into a graph, are
	// replayed; absent where they are launched one by one.
	GraphLaunches int `json:"graph_launches,omitempty"`
	// Precision and MaxTime (in seconds) end a timing, whichever comes first.
	Precision float64 `json:"precision"`
	MaxTime   float64 `json:"max_time"`
	// Cache is cold (buffers rotate) or warm.
	Cache string `json:"cache"`
	// VerifyBudget is the number of bytes that all ranks' buffers may have for a
	// case to be verified on the loopback.
	VerifyBudget int64 `json:"verify_budget"`
	// Groups are the sizes of the groups of neighbours, Strides the distances
	// between the ranks of other groups, Scales the numbers of nodes, that are run
	// beside the whole world.
	Groups  []int `json:"groups,omitempty"`
	Strides []int `json:"strides,omitempty"`
	Scales  []int `json:"scales,omitempty"`
	// KeepSamples leaves samples.f32 in a world of any size.
	KeepSamples bool `json:"keep_samples,omitempty"`
	// FixedSizes adds no sizes for the bucket size's sake.
	FixedSizes bool `json:"fixed_sizes,omitempty"`
}

// Clone is a deep copy of what a command may change.
func (s Spec) Clone() Spec {
	s.Faults = slices.Clone(s.Faults)
	if s.Sweep != nil {
		w := *s.Sweep
		w.Collectives, w.InPlace = slices.Clone(w.Collectives), slices.Clone(w.InPlace)
		w.Groups, w.Strides, w.Scales = slices.Clone(w.Groups), slices.Clone(w.Strides), slices.Clone(w.Scales)
		s.Sweep = &w
	}
	if s.Advice != nil {
		a := *s.Advice
		s.Advice = &a
	}
	return s
}

// ErrNot is wrapped by the errors of Read that mean a file of another kind.
var ErrNot = errors.New("not a zbench spec")

// Read reads a Spec: a file of its own, a record (results.json) or the first line
// of a journal, which have one whole.
func Read(text []byte) (*Spec, error) {
	line, _, journal := strings.Cut(string(text), "\n")
	if !journal || !strings.HasPrefix(line, `{"schema":"zbench.journal/`) {
		line = string(text)
	}
	var file struct {
		Schema string `json:"schema"`
		Spec   *Spec  `json:"spec"`
		Record struct {
			Spec *Spec `json:"spec"`
		} `json:"record"`
	}
	if err := json.Unmarshal([]byte(line), &file); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNot, err)
	}
	found := file.Spec
	switch family, _, _ := strings.Cut(file.Schema, "/"); family {
	case "zbench.spec":
		found = &Spec{}
		if err := json.Unmarshal([]byte(line), found); err != nil {
			return nil, fmt.Errorf("spec: %w", err)
		}
	case "zbench.journal":
		found = file.Record.Spec
	case "zbench.results":
	default:
		return nil, fmt.Errorf("%w: its schema is %q", ErrNot, file.Schema)
	}
	switch {
	case found == nil:
		return nil, fmt.Errorf("%w: the record is of an import, which nothing was asked of", ErrNot)
	case found.Schema != Schema:
		return nil, fmt.Errorf("%w: it is of version %q, this zbench reads %q", ErrNot, found.Schema, Schema)
	}
	return found, found.Check()
}

// Bounds of a request from a file: what is beyond them is damage, not a request.
const (
	maxRanks  = 1 << 24
	maxSplits = 64
)

// Check refuses a request from a file that no flags make. What flags can say too is
// checked where the sweep is prepared.
func (s *Spec) Check() error {
	w := s.World
	for _, n := range []int{w.Nodes, w.GPUsPerNode, w.GPUsPerProcess, w.RanksPerGPU} {
		if n < 0 || n > maxRanks {
			return fmt.Errorf("spec: world: %+v", w)
		}
	}
	if s.Sweep != nil {
		if err := s.Sweep.check(); err != nil {
			return fmt.Errorf("spec: sweep: %w", err)
		}
	}
	if s.Advice != nil && s.Advice.Model != nil {
		if err := s.Advice.Model.Check(); err != nil {
			return fmt.Errorf("spec: advice: %w", err)
		}
	}
	return nil
}

func (s *Sweep) check() error {
	switch {
	case !slices.Contains([]string{"cold", "warm"}, s.Cache):
		return fmt.Errorf("cache %q: valid are cold, warm", s.Cache)
	case len(s.InPlace) > 2, len(s.InPlace) == 2 && s.InPlace[0] == s.InPlace[1]:
		return fmt.Errorf("in_place lists %v", s.InPlace)
	case s.VerifyBudget < 0:
		return fmt.Errorf("verify_budget is %d", s.VerifyBudget)
	case len(s.Groups)+len(s.Strides)+len(s.Scales) > maxSplits:
		return fmt.Errorf("more than %d groups, strides and scales", maxSplits)
	}
	return nil
}
