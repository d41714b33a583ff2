// Package collective holds the table of collectives: their names, how a message size becomes a count
// of elements, and the bus-bandwidth factor. CONTRIBUTING.md lists the other rows that a new collective
// needs.
//
// Sizes follow rccl-tests and nccl-tests: a size S is the number of bytes in the larger of a rank's
// send and receive buffers.
package collective

import (
	"slices"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/base/spell"
)

// Collective is one row of the table.
type Collective struct {
	// Name is zbench's name, which is also the name of the rccl-tests program without _perf.
	Name string
	// Aliases are other tools' spellings, lower case.
	Aliases []string
	// Reduces is true if the result depends on a reduction operator.
	Reduces bool
	// Rooted is true if one rank is the only source or destination.
	Rooted bool
	// Does describes the collective in one line.
	Does string
	// BusFactor is busbw/algbw for n ranks (nccl-tests doc/PERFORMANCE.md).
	BusFactor func(n int) float64
	// SendShare and RecvShare are true if the rank's send or receive buffer holds S/n bytes, and
	// false if it holds S.
	SendShare, RecvShare bool
	// Shares is true if S is divided among the ranks although both buffers are full.
	Shares bool
	// Uneven is true if a Skew decides how much each rank receives. S is then the number of bytes
	// that each rank sends.
	Uneven bool
	// InPlace says where the two buffers lie if they overlap.
	InPlace Place
	// Copied is true if a library can run the collective on copy engines (NVIDIA/nccl,
	// src/ce_coll.cc, ncclCeImplemented).
	Copied bool
	// result returns the expected content of one of n ranks if all of them call with root.
	result func(rank, n, root int) Result
}

// Place says how a collective's send and receive buffer can overlap.
type Place int

// Never means that the result would be wrong. Same means one buffer. SendInRecv means that the send
// buffer is the rank's share of the receive buffer; RecvInSend means that the receive buffer is the
// rank's share of the send buffer.
const (
	Never Place = iota
	Same
	SendInRecv
	RecvInSend
)

// Result describes the required content of a rank's receive buffer. Shares have the call's count of
// elements. Element k of block b is element Base·count + k of the data that source From + b·Step
// sent, or of the data reduced over all ranks.
type Result struct {
	// Blocks is the number of shares to check; 0 if the rank receives no data.
	Blocks int
	// Reduced is true if the elements are reduced over all ranks.
	Reduced          bool
	From, Step, Base int
}

// Result returns the required content of one of n ranks.
func (c Collective) Result(rank, n, root int) Result { return c.result(rank, n, root) }

// Messages reports whether every rank receives one share from exactly one other rank. Libraries
// have no single call for such a collective.
func (c Collective) Messages() bool {
	const ranks = 4
	first, second := c.result(0, ranks, 0), c.result(1, ranks, 0)
	return !c.Reduces && first.Blocks == 1 && second.Blocks == 1 && first.From != second.From
}

// Layout holds the buffer sizes of each rank for one message size.
type Layout struct {
	// Bytes is the total size S that is moved, at most the requested size.
	Bytes int64
	// Count is the number of elements in each rank's call.
	Count int64
	// SendBytes and RecvBytes are the sizes of a rank's two buffers.
	SendBytes, RecvBytes int64
}

// shareAlign is the alignment, in bytes, of a rank's share if S is divided among ranks. nccl-tests
// rounds shares down in the same way since 2024-12 (commit 29f4114).
const shareAlign = 16

func all(n int) float64 { return float64(n-1) / float64(n) }

func whole(int) float64 { return 1 }

// onlyRoot returns r for the root and an empty result for other ranks.
func onlyRoot(r Result) func(rank, n, root int) Result {
	return func(rank, _, root int) Result {
		if rank != root {
			return Result{}
		}
		return r
	}
}

var table = []Collective{
	{
		Name: "all_reduce", Aliases: []string{"allreduce"}, Reduces: true,
		Does:      "reduce every rank's buffer; every rank gets the result",
		BusFactor: func(n int) float64 { return 2 * all(n) }, InPlace: Same,
		result: func(int, int, int) Result { return Result{Blocks: 1, Reduced: true} },
	},
	{
		Name: "reduce_scatter", Aliases: []string{"reducescatter"}, Reduces: true,
		Does:      "reduce every rank's buffer, each rank gets its share of the result",
		BusFactor: all, RecvShare: true, InPlace: RecvInSend,
		result: func(rank, _, _ int) Result { return Result{Blocks: 1, Reduced: true, Base: rank} },
	},
	{
		Name: "all_gather", Aliases: []string{"allgather"},
		Does:      "each rank contributes its share; every rank gets all shares",
		BusFactor: all, SendShare: true, InPlace: SendInRecv, Copied: true,
		result: func(_, n, _ int) Result { return Result{Blocks: n, Step: 1} },
	},
	{
		Name: "broadcast", Rooted: true, Aliases: []string{"bcast"},
		Does:      "every rank gets the root's buffer",
		BusFactor: whole, InPlace: Same,
		result: func(_, _, root int) Result { return Result{Blocks: 1, From: root} },
	},
	{
		Name: "reduce", Rooted: true, Reduces: true,
		Does:      "reduce every rank's buffer, the root gets the result",
		BusFactor: whole, InPlace: Same,
		result: onlyRoot(Result{Blocks: 1, Reduced: true}),
	},
	{
		Name: "all_to_all", Aliases: []string{"alltoall"},
		Does:      "each rank sends a share of its own to every other",
		BusFactor: all, Shares: true, InPlace: Never, Copied: true,
		result: func(rank, n, _ int) Result { return Result{Blocks: n, Step: 1, Base: rank} },
	},
	{
		Name: "send_recv", Aliases: []string{"sendrecv"},
		Does:      "each rank sends to the next and receives from the one before",
		BusFactor: whole, InPlace: Never,
		result: func(rank, n, _ int) Result { return Result{Blocks: 1, From: (rank + n - 1) % n} },
	},
	{
		Name: "gather", Rooted: true,
		Does:      "the root gets every rank's share",
		BusFactor: all, SendShare: true, InPlace: SendInRecv, Copied: true,
		result: func(rank, n, root int) Result { return onlyRoot(Result{Blocks: n, Step: 1})(rank, n, root) },
	},
	{
		Name: "scatter", Rooted: true,
		Does:      "each rank gets its share of the root's buffer",
		BusFactor: all, RecvShare: true, InPlace: RecvInSend, Copied: true,
		result: func(rank, _, root int) Result { return Result{Blocks: 1, From: root, Base: rank} },
	},
	{
		Name: "all_to_allv", Aliases: []string{"alltoallv"},
		Does:      "each rank sends to every other as much as --skew says",
		BusFactor: all, Shares: true, Uneven: true, InPlace: Never,
		result: func(rank, n, _ int) Result { return Result{Blocks: n, Step: 1, Base: rank} },
	},
}

// Default returns the collectives of data-parallel training, which are swept if the user names
// none.
func Default() []string { return []string{"all_reduce", "reduce_scatter", "all_gather"} }

// All returns a copy of the table, in listing order.
func All() []Collective { return slices.Clone(table) }

// Names returns the names in listing order.
func Names() []string {
	return slice.Map(table, func(c Collective) string { return c.Name })
}

// ByName finds a collective by zbench's name or another tool's ("AllReduce", "all-reduce",
// "all_reduce_perf"). The error is a [spell.Unknown].
func ByName(name string) (Collective, error) {
	want := strings.TrimSuffix(strings.ToLower(strings.TrimSpace(name)), "_perf")
	if i := spell.Index(table, want, func(c Collective) (string, []string) { return c.Name, c.Aliases }); i >= 0 {
		return table[i], nil
	}
	unknown := &spell.Unknown{Kind: "collective", Given: name, Valid: Names()}
	for _, c := range table {
		unknown.Aliases = append(unknown.Aliases, c.Aliases...)
	}
	return Collective{}, unknown
}

// Layout converts a requested size in bytes into the buffer sizes of n ranks with elements of elt
// bytes. Bytes is 0 if the size rounds down to nothing.
func (c Collective) Layout(requested int64, n, elt int) Layout {
	width := int64(elt)
	if !c.SendShare && !c.RecvShare && !c.Shares {
		count := requested / width
		return Layout{Bytes: count * width, Count: count, SendBytes: count * width, RecvBytes: count * width}
	}
	share := requested / width / int64(n) * width / shareAlign * shareAlign
	l := Layout{Bytes: share * int64(n), Count: share / width, SendBytes: share * int64(n), RecvBytes: share * int64(n)}
	if c.SendShare {
		l.SendBytes = share
	}
	if c.RecvShare {
		l.RecvBytes = share
	}
	return l
}

// MarshalText writes the collective's name.
func (c Collective) MarshalText() ([]byte, error) { return []byte(c.Name), nil }

// UnmarshalText finds a collective by its name.
func (c *Collective) UnmarshalText(name []byte) (err error) {
	*c, err = ByName(string(name))
	return err
}
