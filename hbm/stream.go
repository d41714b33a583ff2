// Package hbm measures one device's memory, and memory-bound kernels: the streams (read, write,
// copy, scale, add, triad, dot) and the fused norms.
//
// Open a Driver on a provider, then Measure cases. On the loopback's wall clock the device is the
// host's memory and its CPUs. On its virtual clock results are checked and nothing is timed.
package hbm

import (
	"slices"
	"strings"

	"zbench/bench/base/slice"
)

// Stream is one access pattern of memory, such as triad.
type Stream struct {
	Name string
	// Reads and Writes are the numbers of arrays that a launch reads and writes, each once. As
	// in STREAM, a store does not also count as a load.
	Reads, Writes int
	Formula       string
	// op is the stream's number in the checking kernel; −1 if the result is a sum.
	op int
}

// String returns the stream's name.
func (s Stream) String() string { return s.Name }

// Arrays returns the number of arrays that count as traffic.
func (s Stream) Arrays() int64 { return int64(s.Reads + s.Writes) }

// sums() reports whether the result is a sum instead of an array.
func (s Stream) sums() bool { return s.op < 0 }

// Counting states how all bandwidths of streams count bytes.
const Counting = "STREAM: every array of the kernel once, no load for a store"

// scalar is the factor s in the formulas. It is a power of two, so that a fused multiply-add
// rounds like two separate operations.
const scalar = 0.5

// streams is the only table of streams. Listings use its order.
var streams = []Stream{
	{"read", 1, 0, "Σ x", -1},
	{"write", 0, 1, "out = s", 0},
	{"copy", 1, 1, "out = x", 1},
	{"scale", 1, 1, "out = s·x", 2},
	{"add", 2, 1, "out = x + y", 3},
	{"triad", 2, 1, "out = x + s·y", 4},
	{"dot", 2, 0, "Σ x·y", -2},
}

// Streams returns the streams in the order of the table.
func Streams() []Stream { return slices.Clone(streams) }

// StreamNames returns the names of the streams.
func StreamNames() []string {
	return slice.Map(streams, func(s Stream) string { return s.Name })
}

// StreamByName finds a stream by its name. "mul" is BabelStream's name of scale.
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
	short string // the type's part of the kernels' names
	code  int    // the type's ncclDataType_t, for printing
}

// String returns zbench's name of the type.
func (t Type) String() string { return t.Name }

var types = []Type{{"float32", 4, "f32", 7}, {"float64", 8, "f64", 8}}

// TypeByName finds a type by zbench's name or C's name.
func TypeByName(name string) (Type, bool) {
	switch strings.ToLower(name) {
	case "float32", "float", "f32":
		return types[0], true
	case "float64", "double", "f64":
		return types[1], true
	}
	return Type{}, false
}

// TypeNames returns the names of the streams' types.
func TypeNames() []string { return []string{types[0].Name, types[1].Name} }
