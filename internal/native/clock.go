package native

/*
#include "c/timer.h"
*/
import "C"

import "encoding/binary"

// stamps measures the clock rate of a device's compute units by two launches of a kernel. Both
// launches use the same counts.
type stamps struct {
	module   *Module
	counts   Buffer
	launches memory
}

const (
	clockFile = "clock.hip"
	// clockCounts is the number of words in the counts of zb_clock.
	clockCounts = 2 + 2*4096
)

// CountClocks makes each Run measure the clock rate of its devices' compute units, from before the
// first event to after the last; see kernels/clock.hip. Without a compiler nothing is measured.
func (t *Timer) CountClocks() error {
	if t.p.Compiles() != nil {
		return nil
	}
	for i, s := range t.streams {
		t.p.Expect(1, []int{s.device})
		if err := t.countClock(&t.tracks()[i], s.device); err != nil {
			return err
		}
	}
	return t.ClearClocks()
}

func (t *Timer) countClock(k *C.zb_track, device int) error {
	info, err := t.p.Device(device)
	if err != nil {
		return err
	}
	t.stamps = append(t.stamps, stamps{})
	own := &t.stamps[len(t.stamps)-1]
	if own.module, err = t.p.LoadModule(device, clockFile, nil); err != nil {
		return err
	}
	f, err := own.module.Function("zb_clock")
	if err != nil {
		return err
	}
	if own.counts, err = t.p.Alloc(device, 8*clockCounts); err != nil {
		return err
	}
	var both []Step
	for ends := range uint32(2) {
		both = append(both, Step{Function: f, Launch: line(uint32(max(1, info.Units)), 1), Args: []any{own.counts, ends}}) //nolint:gosec // units of a device
	}
	k.stamps, err = own.launches.list(both)
	return err
}

// ClearClocks sets the counts to 0.
func (t *Timer) ClearClocks() error {
	for _, s := range t.stamps {
		if err := t.p.Write(Address{Buffer: s.counts}, make([]byte, s.counts.Bytes)); err != nil {
			return err
		}
	}
	return nil
}

// Clocks returns the mean clock rate of the compute units during the Runs since ClearClocks,
// in hertz, for each stream; 0 if nothing was counted.
func (t *Timer) Clocks() ([]float64, error) {
	out := make([]float64, len(t.streams))
	for i, s := range t.stamps {
		var sums [16]byte
		if err := t.p.Read(Address{Buffer: s.counts}, sums[:]); err != nil {
			return nil, err
		}
		if ns := binary.NativeEndian.Uint64(sums[8:]); ns > 0 {
			out[i] = float64(binary.NativeEndian.Uint64(sums[:])) / float64(ns) * 1e9
		}
	}
	return out, nil
}

// closeClocks frees the counters.
func (t *Timer) closeClocks() {
	for _, s := range t.stamps {
		s.launches.free()
		if s.counts.ptr != nil {
			_ = t.p.Free(s.counts)
		}
		_ = s.module.Close()
	}
}
