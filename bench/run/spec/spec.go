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

	"zbench/bench/base/jsonfile"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
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
	// Name of the simulated hardware, or of the hardware whose roofs and cache are assumed (--fabric).
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

// Command is the command of a benchmark, behind "zbench ".
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

// SizesLine returns the command that sweeps these sizes, in bytes. ranks is the number of ranks, which are
// divided equally among the nodes. If nodes is 0, the command does not state the ranks.
func SizesLine(collectives []string, sizes []int64, dtype string, nodes, ranks int) string {
	words := append([]string{"zbench", "collectives"}, collectives...)
	list := slice.Map(sizes, func(n int64) string { return strconv.FormatInt(n, 10) })
	words = append(words, "--sizes", strings.Join(list, ","), "--datatype", dtype)
	if nodes > 0 {
		words = append(words, "--nodes", strconv.Itoa(nodes), "--gpus-per-node", strconv.Itoa(ranks/nodes))
	}
	return plain.Shell(words...)
}
