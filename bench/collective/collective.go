// Package collective holds the table of collectives: what each is called, how a
// message size turns into element counts, and the bus-bandwidth factor. Adding
// a collective is one row here, one in internal/native's symbol list and one
// in rccl's call table.
//
// Sizes follow rccl-tests and nccl-tests: S is the total number of bytes, that
// is the larger of a rank's send and receive buffer.
package collective

import (
	"fmt"
	"slices"
	"strings"
)

// Collective is one row of the table.
type Collective struct {
	// Name is zbench's name and that of the rccl-tests program without _perf.
	Name string
	// Title is the name for people.
	Title string
	// Aliases are other tools' spellings, lower case.
	Aliases []string
	// Reduces tells that the result depends on a reduction operator.
	Reduces bool
	// Does says what the collective does, in one line.
	Does string
	// BusFactor is busbw/algbw for n ranks (nccl-tests doc/PERFORMANCE.md).
	BusFactor func(n int) float64
	// SendShare and RecvShare tell whether a rank's buffer holds the full S
	// bytes (false) or S/n (true).
	SendShare, RecvShare bool
}

// Layout is what one message size means for one rank.
type Layout struct {
	// Bytes is the total size S that is really moved, at most the size asked for.
	Bytes int64
	// Count is the element count passed to the call on each rank.
	Count int64
	// SendBytes and RecvBytes are the sizes of a rank's two buffers.
	SendBytes, RecvBytes int64
}

// shareAlign is the byte alignment of a rank's share where S is divided among
// ranks; nccl-tests rounds the share down so since 2024-12 (commit 29f4114).
const shareAlign = 16

func all(n int) float64 { return float64(n-1) / float64(n) }

// table is in the order of the listings.
var table = []Collective{
	{
		Name: "all_reduce", Title: "all-reduce", Aliases: []string{"allreduce"}, Reduces: true,
		Does:      "reduce every rank's buffer, everybody gets the result",
		BusFactor: func(n int) float64 { return 2 * all(n) },
	},
	{
		Name: "reduce_scatter", Title: "reduce-scatter", Aliases: []string{"reducescatter"}, Reduces: true,
		Does:      "reduce every rank's buffer, each rank gets its share of the result",
		BusFactor: all, RecvShare: true,
	},
	{
		Name: "all_gather", Title: "all-gather", Aliases: []string{"allgather"},
		Does:      "each rank contributes its share, everybody gets all shares",
		BusFactor: all, SendShare: true,
	},
}

// All returns the table, in listing order. The slice is the caller's.
func All() []Collective { return append([]Collective(nil), table...) }

// Names returns the names in listing order.
func Names() []string {
	names := make([]string, len(table))
	for i, c := range table {
		names[i] = c.Name
	}
	return names
}

// ByName finds a collective by its name or another tool's spelling of it
// ("AllReduce", "all_reduce_perf"). The error lists the valid names.
func ByName(name string) (Collective, error) {
	want := strings.TrimSuffix(strings.ToLower(strings.TrimSpace(name)), "_perf")
	for _, c := range table {
		if want == c.Name || slices.Contains(c.Aliases, want) {
			return c, nil
		}
	}
	return Collective{}, fmt.Errorf("unknown collective %q: valid are %s", name, strings.Join(Names(), ", "))
}

// Layout turns a requested size in bytes into what n ranks of elements of elt
// bytes really move. Bytes is 0 where the size rounds to nothing.
func (c Collective) Layout(requested int64, n, elt int) Layout {
	width := int64(elt)
	if !c.SendShare && !c.RecvShare {
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
