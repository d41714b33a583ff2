// Package formats is the registry of file formats that zbench reads. It recognises a file by its
// content, and knows what the file holds and how to read it. To add a format, write one file that
// calls register.
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

// Holds says what a file holds.
type Holds string

// The kinds of content.
const (
	// Curve means that the file holds times of collectives by size, measured by a benchmark.
	Curve Holds = "curve"
	// Calls means that the file holds the collectives that a job called.
	Calls Holds = "calls"
	// Rules means that the file holds a library's choice of algorithm by size.
	Rules Holds = "tuner rules"
	// Topology means that the file holds the connections of a node's devices.
	Topology Holds = "topology"
	// Health means that the file holds the state of a running job's communicators.
	Health Holds = "health"
)

// Format is a file format.
type Format struct {
	// Name is the short name, and Title is the name for people.
	Name, Title string
	Holds       Holds
	// Use names the command that reads the format, if it has no calls.
	Use string
	// recognise decides from at most Head bytes at the beginning of the decompressed file.
	recognise func(head []byte) bool
	// read reads calls; nil if the format has no calls.
	read func(in *Input, t *trace.Trace) error
	// curve reads times of collectives by size; nil if the format has no such times.
	curve func(in *Input, o peers.Hints) (*record.Record, error)
	// rank orders the tests. Formats with a less specific test have a higher rank and are tried
	// later.
	rank int
}

// Head is the number of bytes that Recognise needs.
const Head = 64 << 10

// Errors of Read.
var (
	// ErrUnknown is wrapped if no format matches the file.
	ErrUnknown = errors.New("no format that zbench knows")
	// ErrHolds is wrapped if the format is known but has no calls.
	ErrHolds = errors.New("holds no calls")
	// ErrDamaged is wrapped if a file does not follow its format.
	ErrDamaged = errors.New("damaged")
)

// Input is a file to read.
type Input struct {
	// Name is the file's name. For a file of an archive, the archive's name precedes it.
	Name string
	io.Reader
}

// Limits for a file. No job makes more calls or groups, so a larger number means that the file is
// damaged.
const (
	maxCalls  = 1 << 20
	maxGroups = 1 << 14
	// maxTraces limits the bytes after decompression. The traces of any job have fewer bytes.
	maxTraces = 1 << 44
)

// bounded returns an error if a file has too many groups, or too many calls so far.
func bounded(t *trace.Trace, calls int) error {
	switch {
	case calls > maxCalls:
		return fmt.Errorf("%w: over %d calls", ErrDamaged, maxCalls)
	case len(t.Groups) > maxGroups:
		return fmt.Errorf("%w: over %d groups", ErrDamaged, maxGroups)
	}
	return nil
}

// The list `all` has the formats in the order in which they are tried.
var all []Format

func register(f Format) {
	all = append(all, f)
	slices.SortStableFunc(all, func(a, b Format) int { return a.rank - b.rank })
}

// Recognise returns the format of a file from its first bytes, or false if it is unknown.
func Recognise(head []byte) (Format, bool) {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	for _, f := range all {
		if f.recognise(head) {
			return f, true
		}
	}
	return Format{}, false
}

// HasCalls reports whether a file has the calls of a job. The file may be compressed. In an
// archive, only the first file is examined.
func HasCalls(name string, r io.Reader) (calls bool) {
	_ = unpack(name, r, maxTraces, func(name string, r io.Reader) error {
		if _, head, err := peek(name, r); err == nil {
			f, _ := Recognise(head)
			calls = f.Holds == Calls
		}
		return io.EOF // stop after the first file
	})
	return calls
}

// Read reads the calls of a file, or of an archive with one file per rank. The input may be
// compressed. The error wraps ErrUnknown, ErrHolds or ErrDamaged, or comes from the reader.
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
