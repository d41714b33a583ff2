// Package spec describes one command's request with all options, in base units, as a record keeps
// it. Flags fill a [Spec], an engine runs it, a journal keeps it so that a sweep can be resumed
// without flags, and a file of it can be run again.
package spec

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/jsonfile"
	"zbench/bench/plain"
	"zbench/bench/policy"
	"zbench/bench/slice"
)

// Schema names the version of the format.
const Schema = "zbench.spec/1"

// Collectives is the benchmark of `zbench collectives`.
const Collectives = "collectives"

// Spec is a request. Defaults are resolved: the same Spec gives the same cases with any version
// that reads it.
type Spec struct {
	// Version of the format.
	Schema string `json:"schema"`
	// What runs: collectives, hbm, or a kernel by the name of its command.
	Benchmark string `json:"benchmark"`
	// Provider: loopback, rocm or cuda.
	Backend string `json:"backend"`
	// Name of the simulated hardware, or of the one whose roofs and cache are assumed (--fabric).
	Fabric string `json:"fabric,omitempty"`
	// Ranks that take part.
	World World `json:"world"`
	// Seed of every random draw, an unsigned 64-bit integer.
	Seed uint64 `json:"seed"`
	// Faults are planted into the simulation, in the form of --fault.
	Faults []string `json:"faults,omitempty"`
	// Sweep of collectives; absent for another benchmark.
	Sweep *Sweep `json:"sweep,omitempty"`
	// Run of hbm or of a kernel; absent for collectives.
	Kernels *Kernels `json:"kernels,omitempty"`
	// Request for a bucket size; absent if there is none.
	Advice *Advice `json:"advice,omitempty"`
}

// Sweep is a sweep of collectives over message sizes, in rccl-tests' terms.
type Sweep struct {
	// Names of the collectives, in order.
	Collectives []string `json:"collectives"`
	// Smallest size, in bytes (-b).
	MinBytes int64 `json:"min_bytes"`
	// Largest size, in bytes (-e).
	MaxBytes int64 `json:"max_bytes"`
	// Factor between sizes (-f); 1 if step_bytes are added instead.
	Factor int `json:"factor" jsonschema:"minimum=1"`
	// Bytes between sizes (-i); absent if sizes are multiplied.
	StepBytes int64 `json:"step_bytes,omitempty" jsonschema:"minimum=1"`
	// Explicit sizes in bytes, in place of the range (--sizes); absent if the range is used.
	Sizes []int64 `json:"sizes,omitempty" jsonschema:"minItems=1"`
	// Element types, separated by commas (-d).
	Dtype string `json:"dtype"`
	// Reduction operators, separated by commas (-o).
	Op string `json:"op"`
	// InPlace lists the forms that are run: false for two buffers, true for one.
	InPlace []bool `json:"in_place"`
	// Launches in one burst (-n).
	Iterations int `json:"iterations"`
	// Launches before the first burst (-w).
	Warmup int `json:"warmup"`
	// Verified launches (-c).
	Checks int `json:"checks"`
	// GraphLaunches is the number of replays of a burst's launches, captured into a graph; absent
	// if they are launched one by one.
	GraphLaunches int `json:"graph_launches,omitempty" jsonschema:"minimum=1"`
	// Half the 95 % interval of the median over the median, at which a timing ends; a ratio.
	Precision float64 `json:"precision"`
	// Measured time after which a timing ends, in seconds.
	MaxTime float64 `json:"max_time"`
	// Cache is cold if buffers rotate over twice the last-level cache, warm if they do not.
	Cache string `json:"cache"`
	// Largest total of all ranks' buffers for a case to be verified on the loopback, in bytes
	// (--verify-budget).
	VerifyBudget int64 `json:"verify_budget"`
	// Sizes of the groups that are also run (--groups).
	Groups []int `json:"groups,omitempty" jsonschema:"minimum=2"`
	// Strides of the groups that are also run (--strides).
	Strides []int `json:"strides,omitempty" jsonschema:"minimum=2"`
	// Numbers of nodes that are also run (--scale).
	Scales []int `json:"scales,omitempty" jsonschema:"minimum=1"`
	// Ways of registering the buffers, each measured (--register); absent for none.
	Register []string `json:"register,omitempty"`
	// Policies of compute units, each measured (--cta-policy); absent for the library's own.
	CTAPolicy []string `json:"cta_policy,omitempty"`
	// Distribution of uneven receives: zipf:S, or one weight per rank, separated by commas
	// (--skew); absent for equal shares.
	Skew string `json:"skew,omitempty"`
	// Samples are kept whatever the number of ranks (--keep-samples).
	KeepSamples bool `json:"keep_samples,omitempty"`
	// No sizes are added for the bucket size (--fixed-sizes).
	FixedSizes bool `json:"fixed_sizes,omitempty"`
}

// Command returns the command of a benchmark, without "zbench ".
func Command(benchmark string) string {
	switch benchmark {
	case "", Collectives:
		return Collectives
	case HBM, Gemm:
		return benchmark
	}
	return "kernels " + benchmark
}

// Clone returns a deep copy of everything that a command may change.
func (s Spec) Clone() Spec {
	s.Faults = slices.Clone(s.Faults)
	if s.Sweep != nil {
		w := *s.Sweep
		w.Collectives, w.InPlace, w.Sizes = slices.Clone(w.Collectives), slices.Clone(w.InPlace), slices.Clone(w.Sizes)
		w.Groups, w.Strides, w.Scales = slices.Clone(w.Groups), slices.Clone(w.Strides), slices.Clone(w.Scales)
		w.Register, w.CTAPolicy = slices.Clone(w.Register), slices.Clone(w.CTAPolicy)
		s.Sweep = &w
	}
	if s.Kernels != nil {
		s.Kernels = s.Kernels.clone()
	}
	if s.Advice != nil {
		a := *s.Advice
		s.Advice = &a
	}
	return s
}

// ErrNot is wrapped by Read's errors about a file of another kind.
var ErrNot = errors.New("not a zbench spec")

// Read reads a Spec from its own file, a record (results.json) or the first line of a journal. An
// unknown field is an error, because dropping it would measure with its default.
func Read(text []byte) (*Spec, error) {
	var file struct {
		Schema string          `json:"schema"`
		Spec   json.RawMessage `json:"spec"`
		Record struct {
			Spec json.RawMessage `json:"spec"`
		} `json:"record"`
	}
	header, err := journalHeader(text)
	if err != nil {
		return nil, err
	}
	if header != nil {
		text = header
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNot, jsonfile.Explain(err))
	}
	raw := file.Spec
	switch family, _, _ := strings.Cut(file.Schema, "/"); {
	case family == "zbench.spec":
		raw = text
	case family == "zbench.journal" && header != nil:
		raw = file.Record.Spec
	case family != "zbench.results":
		return nil, fmt.Errorf("%w: its schema is %q", ErrNot, file.Schema)
	}
	if len(raw) == 0 || string(raw) == "null" {
		return nil, fmt.Errorf("%w: the record is an import; it has no request to run", ErrNot)
	}
	return decode(raw)
}

// journalHeader is the first line of a journal, checked against its checksum; nil for
// another file.
func journalHeader(text []byte) ([]byte, error) {
	line, _, whole := bytes.Cut(text, []byte("\n"))
	if !whole || !bytes.HasPrefix(line, []byte(`{"schema":"zbench.journal/`)) {
		return nil, nil
	}
	object, _, err := jsonfile.Object(line)
	if err != nil {
		return nil, fmt.Errorf("line 1: %w", err)
	}
	return object, nil
}

func decode(raw []byte) (*Spec, error) {
	var version struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(raw, &version); err != nil {
		return nil, fmt.Errorf("spec: %w", jsonfile.Explain(err))
	}
	if version.Schema != Schema {
		return nil, fmt.Errorf("%w: its version is %q, this zbench reads %q", ErrNot, version.Schema, Schema)
	}
	found := &Spec{}
	if err := jsonfile.Strict(raw, found); err != nil {
		return nil, fmt.Errorf("spec: %w", err)
	}
	if err := found.Check(); err != nil {
		return nil, err
	}
	if name := found.Kernels.foreign(found.Benchmark); name != "" {
		return nil, fmt.Errorf("spec: kernels: %s has no %s", found.Benchmark, name)
	}
	return found, nil
}

// Bounds of a request from a file: values beyond them mean a damaged file.
const (
	maxRanks  = 1 << 24
	maxSplits = 64
)

// Check refuses a request from a file that flags cannot express. Everything else is checked when
// the sweep is prepared.
func (s *Spec) Check() error {
	if err := s.checkNames(); err != nil {
		return fmt.Errorf("spec: %w", err)
	}
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
	if s.Kernels != nil {
		if err := s.Kernels.check(); err != nil {
			return fmt.Errorf("spec: kernels: %w", err)
		}
	}
	if s.Advice != nil && s.Advice.Model != nil {
		if err := s.Advice.Model.Check(); err != nil {
			return fmt.Errorf("spec: advice: %w", err)
		}
	}
	if err := s.checkBenchmark(); err != nil {
		return fmt.Errorf("spec: %w", err)
	}
	return nil
}

// checkNames refuses texts that are too long for names.
func (s *Spec) checkNames() error {
	err := cmp.Or(plain.Name("backend", s.Backend), plain.Name("fabric", s.Fabric))
	for i, fault := range s.Faults {
		err = cmp.Or(err, plain.Name(fmt.Sprintf("faults[%d]", i), fault))
	}
	if s.Sweep != nil {
		err = cmp.Or(err, plain.Name("sweep.dtype", s.Sweep.Dtype), plain.Name("sweep.op", s.Sweep.Op))
		for i, name := range s.Sweep.Collectives {
			err = cmp.Or(err, plain.Name(fmt.Sprintf("sweep.collectives[%d]", i), name))
		}
	}
	return err
}

// checkBenchmark refuses a request with another benchmark's part.
func (s *Spec) checkBenchmark() error {
	needs, other := "kernels", "sweep"
	if s.Benchmark == Collectives {
		needs, other = other, needs
	}
	switch {
	case s.Benchmark == "":
		return errors.New(`"benchmark" is missing`)
	case !s.Fits():
		return fmt.Errorf("the benchmark %s needs %q, and has no %q", s.Benchmark, needs, other)
	}
	return nil
}

// Fits reports whether the request has only the part of its benchmark, a sweep or kernels.
func (s *Spec) Fits() bool {
	if s.Benchmark == Collectives || s.Benchmark == "" {
		return s.Sweep != nil && s.Kernels == nil
	}
	return s.Kernels != nil && s.Sweep == nil
}

// within reports whether a list has known words only, each once.
func within(list, known []string) bool {
	return len(slice.Distinct(list)) == len(list) && !slices.ContainsFunc(list, func(word string) bool { return !slices.Contains(known, word) })
}

func (s *Sweep) check() error {
	switch {
	case !slices.Contains([]string{"cold", "warm"}, s.Cache):
		return fmt.Errorf("cache %q: valid are cold, warm", s.Cache)
	case len(s.InPlace) > 2, len(s.InPlace) == 2 && s.InPlace[0] == s.InPlace[1]:
		return fmt.Errorf("in_place lists %v", s.InPlace)
	case !within(s.Register, policy.Registers()), !within(s.CTAPolicy, policy.CTAs()):
		return fmt.Errorf("register %q, cta_policy %q: valid are %q and %q", s.Register, s.CTAPolicy, policy.Registers(), policy.CTAs())
	case s.VerifyBudget < 0:
		return fmt.Errorf("verify_budget is %d", s.VerifyBudget)
	case len(s.Groups)+len(s.Strides)+len(s.Scales) > maxSplits:
		return fmt.Errorf("more than %d groups, strides and scales", maxSplits)
	}
	return nil
}

// SizesLine returns the command that sweeps these sizes, in bytes, with a number of ranks on
// equally full nodes; 0 nodes omit the ranks.
func SizesLine(collectives []string, sizes []int64, dtype string, nodes, ranks int) string {
	words := append([]string{"zbench", "collectives"}, collectives...)
	list := slice.Map(sizes, func(n int64) string { return strconv.FormatInt(n, 10) })
	words = append(words, "--sizes", strings.Join(list, ","), "--datatype", dtype)
	if nodes > 0 {
		words = append(words, "--nodes", strconv.Itoa(nodes), "--gpus-per-node", strconv.Itoa(ranks/nodes))
	}
	return plain.Shell(words...)
}
