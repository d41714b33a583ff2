package rccl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"time"

	"zbench/bench/base/slice"
	"zbench/bench/run/plan"
	"zbench/internal/native"
)

// Wrong data are located on the host. The kernel that filled the sender's data makes them again in
// the receiver's send buffer, which is no longer needed.

const (
	// mostLooked is the number of receivers that a process analyses. For further receivers the
	// first wrong element gives the sender.
	mostLooked = 4
	// mostElements is the largest number of elements of a receiver that are analysed. mostGiven is
	// the largest number of contributions to these elements.
	mostElements, mostGiven = 1 << 24, 1 << 22
	mostRanges              = 4
)

// locate finds where wrong elements come from, and classifies their content.
func (d *Driver) locate(c plan.Case, expect []native.Expect, wrong []native.Wrong, seed uint64) ([]plan.WrongPart, error) {
	if c.InPlace || c.Dtype.Size != 4 {
		return nil, errors.New("wrong data are located in elements of 4 bytes, out of place")
	}
	var all []plan.WrongPart
	for i, w := range wrong {
		l := located{d: d, c: c, e: expect[w.Rank], rank: w.Rank, seed: seed}
		var parts []plan.WrongPart
		var err error
		switch {
		case i >= mostLooked:
			parts = []plan.WrongPart{{From: l.sender(w.Index), Elements: w.Count, Ranges: [][2]int64{}, Pattern: plan.OtherData}}
		case l.e.Reduced:
			parts, err = l.reduced(w)
		default:
			parts, err = l.copied(w)
		}
		if err != nil {
			return nil, fmt.Errorf("locating wrong data: %w", err)
		}
		for _, p := range parts {
			p.Rank = d.cfg.FirstRank + w.Rank
			all = append(all, p)
		}
	}
	return all[:min(len(all), plan.MostLocated)], nil
}

// The type located is one receiver with wrong data.
type located struct {
	d    *Driver
	c    plan.Case
	e    native.Expect
	rank int // rank of this process
	seed uint64
}

// world returns the world rank of a rank in the receiver's communicator.
func (l *located) world(number int) int {
	own, s := l.d.cfg.FirstRank+l.rank, l.c.Split
	group := own / l.c.Ranks
	if s.Stride > 0 {
		group = own % s.Stride
	}
	return s.Rank(group, number, l.c.Ranks)
}

// source returns the rank of the communicator that sent an element.
func (l *located) source(element int64) int {
	n := l.c.Ranks
	return ((l.e.Source+int(element/l.e.Block)*l.e.Step)%n + n) % n
}

// sender returns the world rank that sent an element; none for a reduction.
func (l *located) sender(element int64) []int {
	if l.e.Reduced {
		return []int{}
	}
	return []int{l.world(l.source(element))}
}

// given() returns data that a rank of the communicator sent: `count` elements from element `base`
// on.
func (l *located) given(rank int, base, count int64) ([]uint32, error) {
	m := &l.d.ranks[l.rank]
	to, step := m.rank.Send, l.c.Layout.SendBytes/4
	var all []uint32
	for at := int64(0); at < count; at += step {
		n := min(step, count-at)
		args := l.d.work.FillArgs(to, n, base+at, rank, l.c.Ranks, l.e.Reduced, l.seed)
		grid := uint32(min(1+n/4096, 1024)) //nolint:gosec // at most 1024
		err := l.d.provider.Launch(m.rank.Stream, l.d.functions.Fill(m.rank.Device), native.Launch{Grid: [3]uint32{grid, 1, 1}, Block: [3]uint32{native.KernelBlock, 1, 1}}, args...)
		if err == nil {
			err = l.wait()
		}
		if err != nil {
			return nil, err
		}
		words, err := l.read(to, n)
		if err != nil {
			return nil, err
		}
		all = append(all, words...)
	}
	return all, nil
}

// wait waits until the receiver's stream is done.
func (l *located) wait() error {
	late := time.NewTimer(seconds(l.d.deadline(1)))
	defer late.Stop()
	for {
		if done, err := l.d.provider.Done(l.d.ranks[l.rank].rank.Stream); done || err != nil {
			return err
		}
		select {
		case <-late.C:
			return errors.New("a kernel has not ended at the deadline")
		default:
			runtime.Gosched()
		}
	}
}

func (l *located) read(from native.Address, count int64) ([]uint32, error) {
	data := make([]byte, 4*count)
	err := l.d.provider.Read(from, data)
	words := make([]uint32, count)
	for i := range words {
		words[i] = binary.NativeEndian.Uint32(data[4*i:])
	}
	return words, err
}

// received() returns `count` elements of the receive buffer, from element `first` on.
func (l *located) received(first, count int64) ([]uint32, error) {
	from := l.d.ranks[l.rank].rank.Recv
	from.Offset += 4 * first
	return l.read(from, count)
}

// copied() locates the wrong elements of data that are not reduced, block by block.
func (l *located) copied(w native.Wrong) ([]plan.WrongPart, error) {
	first := w.Index - w.Index%l.e.Block
	count := min(l.e.Check-first, max(mostElements, l.e.Block))
	got, err := l.received(first, count)
	if err != nil {
		return nil, err
	}
	var want []uint32
	for at := int64(0); at < count; at += l.e.Block {
		one, err := l.given(l.source(first+at), l.e.Base, l.e.Block)
		if err != nil {
			return nil, err
		}
		want = append(want, one...)
	}
	var parts []plan.WrongPart
	for at := int64(0); at < count; at += l.e.Block {
		p := plan.WrongPart{From: l.sender(first + at)}
		wrong := differences(got, want, at, min(at+l.e.Block, count))
		if len(wrong) == 0 {
			continue
		}
		p.Elements, p.Ranges = int64(len(wrong)), ranges(wrong, first)
		p.Pattern, p.Shift = pattern(got, want, wrong)
		parts = append(parts, p)
	}
	return parts, nil
}

// differences() returns the elements between `from` and `to` that differ.
func differences(got, want []uint32, from, to int64) []int64 {
	var all []int64
	for i := from; i < to; i++ {
		if got[i] != want[i] {
			all = append(all, i)
		}
	}
	return all
}

// ranges() joins consecutive elements into ranges.
func ranges(elements []int64, base int64) [][2]int64 {
	var all [][2]int64
	for _, e := range elements {
		if n := len(all); n > 0 && all[n-1][1] == base+e-1 {
			all[n-1][1]++
		} else if n < mostRanges {
			all = append(all, [2]int64{base + e, base + e})
		} else {
			break
		}
	}
	return all
}

// pattern classifies the wrong content. By chance, one element in 2^32 looks like another.
func pattern(got, want []uint32, wrong []int64) (plan.Pattern, int64) {
	every := func(is func(i int64) bool) bool {
		return !slices.ContainsFunc(wrong, func(i int64) bool { return !is(i) })
	}
	switch {
	case every(func(i int64) bool { return got[i] == 0 }):
		return plan.Zeros, 0
	case every(func(i int64) bool { return got[i] == native.Before }):
		return plan.Stale, 0
	case every(func(i int64) bool { return got[i] == native.Poison }):
		return plan.NotWritten, 0
	case every(func(i int64) bool { return bits.OnesCount32(got[i]^want[i]) == 1 }):
		return plan.OneBit, 0
	case len(wrong) > 1:
		shift := int64(slices.Index(want, got[wrong[0]])) - wrong[0]
		is := func(i, from int64) bool { return from >= 0 && from < int64(len(want)) && got[i] == want[from] }
		if every(func(i int64) bool { return is(i, i+shift) || is(i, i-shift) }) { // this is also the pattern of two swapped parts
			return plan.Shifted, shift
		}
	}
	return plan.OtherData, 0
}

// reduced() finds the ranks whose contribution alone explains the wrong elements of a sum, in a
// stretch from the first wrong element on. Either one word replaced the contribution everywhere, or
// the contribution counted twice.
func (l *located) reduced(w native.Wrong) ([]plan.WrongPart, error) {
	n := l.c.Ranks
	count := min(l.e.Check-w.Index, max(mostGiven/int64(n), 4096))
	got, err := l.received(w.Index, count)
	if err != nil {
		return nil, err
	}
	gives, want := make([][]uint32, n), make([]uint32, count)
	for rank := range n {
		if gives[rank], err = l.given(rank, l.e.Base+w.Index, count); err != nil {
			return nil, err
		}
		for i, v := range gives[rank] {
			want[i] += v
		}
	}
	wrong := differences(got, want, 0, count)
	p := plan.WrongPart{From: []int{}, Elements: w.Count, Ranges: ranges(wrong, w.Index)}
	p.Pattern, p.Shift = pattern(got, want, wrong)
	if p.Pattern != plan.OtherData || len(wrong) < 2 {
		return []plan.WrongPart{p}, nil
	}
	words := map[uint32]plan.Pattern{0: plan.Zeros, native.Before: plan.Stale, native.Poison: plan.NotWritten}
	var from []int
	for rank, own := range gives {
		stands := slice.Map(wrong, func(i int64) uint32 { return got[i] - want[i] + own[i] })
		same := !slices.ContainsFunc(stands, func(v uint32) bool { return v != stands[0] })
		as, known := words[stands[0]]
		switch {
		case same && known:
			p.Pattern = as
		case !slices.ContainsFunc(wrong, func(i int64) bool { return got[i]-want[i] != own[i] }):
			p.Pattern = plan.Doubled
		case !same:
			continue
		}
		from = append(from, l.world(rank))
	}
	if from != nil {
		p.From = from
	}
	return []plan.WrongPart{p}, nil
}
