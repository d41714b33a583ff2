package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/hardware/collective"
)

// A rank has one allocation of device memory, its arena. The first ArenaHead bytes belong to the driver.
// Each case places its buffers after them, independently of other cases.
const (
	// Align is the alignment of every buffer, in bytes: more than a cache line of the device and
	// than the widest access of a library.
	Align = 512
	// ArenaHead is the part of an arena before the buffers, in bytes.
	ArenaHead = 2 * Align
	// cacheFactor is the size that buffers rotate over, as a multiple of the last-level cache.
	cacheFactor = 2
)

// Room is the memory for the ranks' buffers.
type Room struct {
	// Bytes is the memory of one rank, the least over all ranks.
	Bytes int64 `json:"bytes"`
	// Cache is the size of the last-level cache that buffers rotate over, in bytes, the
	// largest of all ranks; 0 disables rotation.
	Cache int64 `json:"cache,omitempty"`
	// Library is true if the memory is the library's own (ncclMemAlloc), which windows need.
	Library bool `json:"library,omitempty"`
}

// For returns the memory that one rank needs for all cases that are not skipped, if buffers rotate over
// r.Cache.
func (r Room) For(cases []Case) Room {
	registers := slices.ContainsFunc(cases, func(c Case) bool { return c.Skip == "" && c.Policy.Register != "" })
	return Room{Bytes: Arena(cases, r.Cache), Cache: r.Cache, Library: registers}
}

// Places are the offsets of a case's buffers in a rank's arena, in bytes. Launches
// rotate over Slots pairs of buffers; in place a pair is one buffer.
type Places struct {
	// Send and Recv are the offsets of the buffers of slot 0. SendStride and RecvStride are the distances
	// to the buffers of the next slot.
	Send, Recv             int64
	SendStride, RecvStride int64
	Slots                  int64
	// Arena is the size of an arena that holds the buffers of all slots, including ArenaHead.
	Arena int64
}

// Places computes the offsets of the case's buffers. The larger of the two buffers rotates over at least
// cacheFactor times the cache, so that no launch finds its data in the cache. The larger buffer comes
// first. The verified buffers of slot 0 then overlap in all cases, so that a simulation touches only the
// memory of the largest case.
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
	switch second := signed(ArenaHead + slots*max(send, recv)); {
	case both == max(send, recv): // one buffer
	case send >= recv:
		p.Recv = second
	default:
		p.Send = second
	}
	return p
}

// Arena returns the number of bytes that one rank needs for all cases that are not skipped: the
// maximum over the cases.
func Arena(cases []Case, cache int64) int64 {
	need := int64(ArenaHead)
	for _, c := range cases {
		if c.Skip == "" {
			need = max(need, c.Places(cache).Arena)
		}
	}
	return need
}

// Fit skips the cases whose arena is larger than the room of a rank. The others need Arena bytes,
// which is no more than the room. At least the largest case of each collective is checked by blocks.
func Fit(cases []Case, r Room) {
	defer byBlocks(cases)
	for _, c := range slice.Pointers(cases) {
		need := c.Places(r.Cache).Arena
		if c.Skip != "" || need <= r.Bytes {
			continue
		}
		c.Skip = fmt.Sprintf(SkippedForMemory+" a rank's buffers need %s of %s", unit.Bytes(need), unit.Bytes(r.Bytes))
		if warm := c.Places(0).Arena; warm <= r.Bytes {
			c.Skip += fmt.Sprintf("; %s without rotation over the cache (--cache warm)", unit.Bytes(warm))
		}
	}
}

// byBlocks marks the largest case of each collective of the whole world that is not skipped,
// preferably with two buffers.
func byBlocks(cases []Case) {
	whole := slice.Where(slice.Pointers(cases), func(c *Case) bool { return c.Skip == "" && c.Split == (Split{}) })
	_, of := slice.Group(whole, func(c *Case) string { return c.Collective.Name })
	for _, all := range of {
		largest := slices.MaxFunc(all, func(a, b *Case) int { return cmp.Compare(a.Layout.Bytes, b.Layout.Bytes) })
		largest.ByBlocks = true
	}
}

// SkippedForMemory begins the reason of a case that is skipped for lack of memory.
const SkippedForMemory = "memory:"

// aligned rounds a size up. It saturates at 4 EiB, more than any memory, so that the sum of two
// sizes does not overflow.
func aligned(bytes int64) uint64 {
	return min((uint64(max(bytes, 0))+Align-1)/Align*Align, 1<<62)
}

// signed returns n, limited to the largest int64, more than any memory.
func signed(n uint64) int64 { return int64(min(n, math.MaxInt64)) } //nolint:gosec // it is bounded
