// Package hbm measures one device's memory, and the kernels that live by it: the
// streams (read, write, copy, scale, add, triad, dot) and the fused norms.
//
// Open a Driver on a provider, then Measure cases. On the loopback's wall clock
// the device is the host's memory and its CPUs; on its virtual clock results are
// checked and nothing is timed.
package hbm

import (
	"slices"
	"strings"

	"zbench/bench/slice"
)

// Stream is one way of going through memory.
type Stream struct {
	Name string
	// Reads and Writes are the arrays a launch moves, each once: STREAM's count,
	// in which a store is not also a load.
	Reads, Writes int
	Formula       string
	// op is the check's number of it, -1 for those that sum up.
	op int
}

// String is the name.
func (s Stream) String() string { return s.Name }

// Arrays is the number of arrays that count.
func (s Stream) Arrays() int64 { return int64(s.Reads + s.Writes) }

// sums reports whether the result is a sum instead of an array.
func (s Stream) sums() bool { return s.op < 0 }

// Counting is the convention of all bandwidths of streams, in words.
const Counting = "STREAM: every array of the kernel once, no load for a store"

// scalar is s of the formulas: a power of two, so that a fused multiplication
// and addition rounds as the two do.
const scalar = 0.5

// streams is THE table of streams; the order is that of every listing.
var streams = []Stream{
	{"read", 1, 0, "Σ x", -1},
	{"write", 0, 1, "out = s", 0},
	{"copy", 1, 1, "out = x", 1},
	{"scale", 1, 1, "out = s·x", 2},
	{"add", 2, 1, "out = x + y", 3},
	{"triad", 2, 1, "out = x + s·y", 4},
	{"dot", 2, 0, "Σ x·y", -2},
}

// Streams lists the table.
func Streams() []Stream { return slices.Clone(streams) }

// StreamNames lists their names.
func StreamNames() []string {
	return slice.Map(streams, func(s Stream) string { return s.Name })
}

// StreamByName finds one; mul is what BabelStream calls scale.
func StreamByName(name string) (Stream, bool) {
	name = strings.ToLower(name)
	if name == "mul" {
		name = "scale"
	}
	i := slices.IndexFunc(streams, func(s Stream) bool { return s.Name == name })
	if i < 0 {
		return Stream{}, false
	}
	return streams[i], true
}

// Type is an element type of the streams.
type Type struct {
	Name  string
	Bytes int64
	short string // in the kernels' names
	code  int    // ncclDataType_t, for printing
}

// String is zbench's name.
func (t Type) String() string { return t.Name }

var types = []Type{{"float32", 4, "f32", 7}, {"float64", 8, "f64", 8}}

// TypeByName finds one, by zbench's name or C's.
func TypeByName(name string) (Type, bool) {
	switch strings.ToLower(name) {
	case "float32", "float", "f32":
		return types[0], true
	case "float64", "double", "f64":
		return types[1], true
	}
	return Type{}, false
}

// TypeNames lists the names.
func TypeNames() []string { return []string{types[0].Name, types[1].Name} }
