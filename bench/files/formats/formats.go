// Package formats is the registry of files that zbench reads: it recognises a file by its content,
// and knows what it holds and its reader. A new format is one file that calls register.
package formats

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"zbench/bench/files/peers"
	"zbench/bench/files/trace"
	"zbench/bench/run/record"
)

// Holds is the kind of content of a file.
type Holds string

// The kinds of content.
const (
	// Curve: times of collectives by size, which a benchmark measured.
	Curve Holds = "curve"
	// Calls: the collectives that a job called.
	Calls Holds = "calls"
	// Rules: a library's choice of algorithm by size.
	Rules Holds = "tuner rules"
	// Topology: the connections of a node's devices.
	Topology Holds = "topology"
	// Health: the state of a running job's communicators.
	Health Holds = "health"
)

// Format is a kind of file.
type Format struct {
	// Name is short; Title is the common name.
	Name, Title string
	Holds       Holds
	// Use names the command that reads it, for formats without calls.
	Use string
	// recognise decides by the first bytes, at most Head of them, decompressed.
	recognise func(head []byte) bool
	// read reads calls; nil if the format has none.
	read func(in *Input, t *trace.Trace) error
	// curve reads times of collectives by size; nil if the format has none.
	curve func(in *Input, o peers.Hints) (*record.Record, error)
	// rank orders the formats: one with a looser test is tried later.
	rank int
}

// Head is the number of bytes that Recognise reads.
const Head = 64 << 10

// Errors of Read.
var (
	// ErrUnknown is wrapped if no format is recognised.
	ErrUnknown = errors.New("no format that zbench knows")
	// ErrHolds is wrapped if a file is known and holds no calls.
	ErrHolds = errors.New("holds no calls")
	// ErrDamaged is wrapped if a file does not follow its format.
	ErrDamaged = errors.New("damaged")
)

// Input is a file to read.
type Input struct {
	// Name is the file's name; a member has the archive's name in front.
	Name string
	io.Reader
}

// Bounds of a file. More calls or groups than any job makes mean damage.
const (
	maxCalls  = 1 << 20
	maxGroups = 1 << 14
	// maxTraces is more than the decompressed bytes of any job's traces.
	maxTraces = 1 << 44
)

// bounded returns the error of a file with too many calls or groups, given the number read so far.
func bounded(t *trace.Trace, calls int) error {
	switch {
	case calls > maxCalls:
		return fmt.Errorf("%w: over %d calls", ErrDamaged, maxCalls)
	case len(t.Groups) > maxGroups:
		return fmt.Errorf("%w: over %d groups", ErrDamaged, maxGroups)
	}
	return nil
}

// all are the formats, in the order of their tests.
var all []Format

func register(f Format) {
	all = append(all, f)
	slices.SortStableFunc(all, func(a, b Format) int { return a.rank - b.rank })
}

// Recognise returns the format of a file by its first bytes; false if it is unknown.
func Recognise(head []byte) (Format, bool) {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	for _, f := range all {
		if f.recognise(head) {
			return f, true
		}
	}
	return Format{}, false
}

// HasCalls reports whether a file, which may be compressed, or the first file of an archive has the
// calls of a job.
func HasCalls(name string, r io.Reader) (calls bool) {
	_ = unpack(name, r, maxTraces, func(name string, r io.Reader) error {
		if _, head, err := peek(name, r); err == nil {
			f, _ := Recognise(head)
			calls = f.Holds == Calls
		}
		return io.EOF // one is enough
	})
	return calls
}

// Read reads the calls of a file, which may be compressed or an archive with one file per rank. An
// error wraps ErrUnknown, ErrHolds or ErrDamaged, or is the reader's own.
func Read(name string, r io.Reader) (*trace.Trace, error) {
	t := &trace.Trace{}
	err := unpack(name, r, maxTraces, func(name string, r io.Reader) error {
		one, err := readOne(name, r)
		if err != nil {
			return err
		}
		t.Add(one)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

func readOne(name string, r io.Reader) (*trace.Trace, error) {
	in, head, err := peek(name, r)
	if err != nil {
		return nil, err
	}
	f, ok := Recognise(head)
	switch {
	case !ok:
		return nil, fmt.Errorf("%s: %w", name, ErrUnknown)
	case f.read == nil:
		return nil, fmt.Errorf("%s: %s, which %w: %s", name, f.Title, ErrHolds, f.Use)
	}
	t := &trace.Trace{Format: f.Name, Files: []string{name}}
	if err := f.read(in, t); err != nil {
		return nil, fmt.Errorf("%s: %s: %w", name, f.Title, err)
	}
	return t, nil
}
