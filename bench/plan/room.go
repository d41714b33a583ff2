package plan

import (
	"fmt"
	"math"

	"zbench/bench/collective"
	"zbench/bench/unit"
)

// A rank has one allocation of device memory, its arena. It begins with ArenaHead
// bytes for the driver; behind them each case lays out its own buffers, as if no
// other case existed.
const (
	// Align is what every buffer begins on, in bytes: more than a line of the
	// device's caches and than any library's widest access.
	Align = 512
	// ArenaHead is the part of an arena in front of the buffers, in bytes.
	ArenaHead = 2 * Align
	// cacheFactor is how many times the last level of cache buffers rotate over.
	cacheFactor = 2
)

// Room is what the ranks' buffers may take.
type Room struct {
	// Bytes is the memory of one rank, the least over all ranks.
	Bytes int64 `json:"bytes"`
	// Cache is the size of the last level of cache that buffers rotate over, in
	// bytes, the largest over all ranks; 0 for no rotation.
	Cache int64 `json:"cache,omitempty"`
}

// Places are where a case's buffers lie in a rank's arena, in bytes. Launches
// rotate over Slots pairs of buffers; a pair in place is one buffer.
type Places struct {
	// Send and Recv are where the buffers of slot 0 begin, SendStride and RecvStride
	// how far those of the next slot are from them.
	Send, Recv             int64
	SendStride, RecvStride int64
	Slots                  int64
	// Arena is the size of an arena that holds them all, ArenaHead included.
	Arena int64
}

// Places lays the case's buffers out. The larger of the two buffers rotates over
// at least cacheFactor times the cache, so that no launch finds its data there.
func (c Case) Places(cache int64) Places {
	send, recv := aligned(c.Layout.SendBytes), aligned(c.Layout.RecvBytes)
	both := send + recv
	if c.InPlace && c.Collective.InPlace != collective.Never {
		send, recv = max(send, recv), max(send, recv)
		both = send
	}
	slots := max(1, (cacheFactor*uint64(cache)+max(send, recv)-1)/max(send, recv, 1))
	p := Places{
		Send: ArenaHead, Recv: ArenaHead, SendStride: signed(send), RecvStride: signed(recv),
		Slots: signed(slots), Arena: signed(ArenaHead + slots*both),
	}
	if both > max(send, recv) {
		p.Recv = signed(ArenaHead + slots*send)
	}
	return p
}

// Arena is the number of bytes that one rank needs for all cases that are not
// skipped: the largest case's.
func Arena(cases []Case, cache int64) int64 {
	need := int64(ArenaHead)
	for _, c := range cases {
		if c.Skip == "" {
			need = max(need, c.Places(cache).Arena)
		}
	}
	return need
}

// Fit marks the cases whose arena is larger than the room of a rank. Those that
// are left need Arena bytes together, which is no more than the room.
func Fit(cases []Case, r Room) {
	for i := range cases {
		c := &cases[i]
		need := c.Places(r.Cache).Arena
		if c.Skip != "" || need <= r.Bytes {
			continue
		}
		c.Skip = fmt.Sprintf("memory: a rank's buffers need %s of %s", unit.Bytes(need), unit.Bytes(r.Bytes))
		if warm := c.Places(0).Arena; warm <= r.Bytes {
			c.Skip += fmt.Sprintf("; %s where they need not rotate over the cache (--cache warm)", unit.Bytes(warm))
		}
	}
}

// aligned rounds a size up. Beyond 4 EiB it stays there, which no memory has, so
// that the sum of two sizes is still a number.
func aligned(bytes int64) uint64 {
	return min((uint64(max(bytes, 0))+Align-1)/Align*Align, 1<<62)
}

// signed is n, or the largest int64, which no memory has.
func signed(n uint64) int64 { return int64(min(n, math.MaxInt64)) } //nolint:gosec // it is bounded
