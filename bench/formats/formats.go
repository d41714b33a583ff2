// Package formats is the registry of the files that zbench reads: what a file is, by its
// content, what it holds, and its reader. Adding a format is one file, which calls register.
package formats

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"zbench/bench/peers"
	"zbench/bench/record"
	"zbench/bench/trace"
)

// Holds is what a file tells.
type Holds string

// What files hold.
const (
	// Curve: times of collectives by size, which a benchmark measured.
	Curve Holds = "curve"
	// Calls: the collectives that a job called.
	Calls Holds = "calls"
	// Rules: which algorithm a library takes for which size.
	Rules Holds = "tuner rules"
	// Topology: how a node's devices are connected.
	Topology Holds = "topology"
	// Health: the state of a running job's communicators.
	Health Holds = "health"
)

// Format is a kind of file.
type Format struct {
	// Name is short; Title is what people call it.
	Name, Title string
	Holds       Holds
	// Use says which command reads it, for formats without calls.
	Use string
	// recognise tells by the first bytes, at most Head of them, decompressed.
	recognise func(head []byte) bool
	// read reads calls; nil for what holds none.
	read func(in *Input, t *trace.Trace) error
	// curve reads times of collectives by size; nil for what holds none.
	curve func(in *Input, o peers.Hints) (*record.Record, error)
	// rank orders the questions: a format with a looser look is asked later.
	rank int
}

// Head is how much of a file Recognise looks at.
const Head = 64 << 10

// Errors of Read.
var (
	// ErrUnknown is wrapped where no format is recognised.
	ErrUnknown = errors.New("no format that zbench knows")
	// ErrHolds is wrapped where a file is known and holds no calls.
	ErrHolds = errors.New("holds no calls")
	// ErrDamaged is wrapped where a file cannot be read as what it is.
	ErrDamaged = errors.New("damaged")
)

// Input is a file to read.
type Input struct {
	// Name is the file's; an archive's member has the archive's in front.
	Name string
	io.Reader
}

// Bounds of a file. More calls, or more groups than any job makes, are damage.
const (
	maxCalls  = 1 << 20
	maxGroups = 1 << 14
	// maxTraces is more than the traces of any job have, in bytes when decompressed.
	maxTraces = 1 << 44
)

// bounded is the error of a file with too many calls or groups, of which this many are read so far.
func bounded(t *trace.Trace, calls int) error {
	switch {
	case calls > maxCalls:
		return fmt.Errorf("%w: over %d calls", ErrDamaged, maxCalls)
	case len(t.Groups) > maxGroups:
		return fmt.Errorf("%w: over %d groups", ErrDamaged, maxGroups)
	}
	return nil
}

// all are the formats, in the order in which they are asked.
var all []Format

func register(f Format) {
	all = append(all, f)
	slices.SortStableFunc(all, func(a, b Format) int { return a.rank - b.rank })
}

// Recognise says what a file is, by its first bytes; false if it is nothing known.
func Recognise(head []byte) (Format, bool) {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	for _, f := range all {
		if f.recognise(head) {
			return f, true
		}
	}
	return Format{}, false
}

// HasCalls tells whether a file, which may be compressed, or the first of an archive is one with the calls of a job.
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

// Read reads the calls of a file, which may be compressed or an archive with a file a rank. An
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
