package native_test

import (
	"errors"
	"fmt"

	"zbench/bench/hardware/collective"
	"zbench/internal/native"
)

// driven is one driver: the ranks first to first+count of the world.
type driven struct {
	p            *native.Provider
	f            *native.Functions
	streams      []native.Stream
	arenas       []native.Buffer
	comms        []native.Comm
	b            *native.Batch
	first, count int
	// base is the number of its device 0 in the world.
	base int
}

func drive(o native.Choice, first, count int) (*driven, error) {
	p, err := native.Open(o)
	if err != nil {
		return nil, err
	}
	d := &driven{p: p, first: first, count: count}
	if o.Share != nil {
		d.base = o.Share.First
	}
	for i := range count {
		s, err := p.NewStream(d.device(i))
		if err != nil {
			return nil, err
		}
		// Buffers of a send and a receive, then 64 bytes to align on and to check with.
		a, err := p.Alloc(d.device(i), 2*sharedBytes+64)
		if err != nil {
			return nil, err
		}
		d.streams, d.arenas = append(d.streams, s), append(d.arenas, a)
	}
	d.f, err = p.LoadFunctions(d.devices(0, count))
	return d, err
}

func (d *driven) device(i int) int { return d.first + i - d.base }

func (d *driven) devices(from, to int) (list []int) {
	for i := from; i < to; i++ {
		list = append(list, d.device(i))
	}
	return list
}

// join puts the driver's ranks into communicators of size neighbours, whose ids are given
// in order.
func (d *driven) join(size int, ids []native.UniqueID) error {
	d.comms = nil
	d.b = d.p.NewBatch(d.count)
	for i := 0; i < d.count; {
		rank := d.first + i
		n := min(size-rank%size, d.count-i)
		comms, err := d.p.InitComms(ids[rank/size], size, rank%size, d.devices(i, i+n), 0, false)
		if err != nil {
			return err
		}
		for k, c := range comms {
			a := func(offset int64) native.Address { return native.Address{Buffer: d.arenas[i+k], Offset: offset} }
			d.b.SetRank(i+k, native.Rank{
				Device: d.device(i + k), Number: (rank + k) % size, Ranks: size, Comm: c, Stream: d.streams[i+k],
				Send: a(0), Recv: a(sharedBytes), Sync: a(2 * sharedBytes), Found: a(2*sharedBytes + 32),
			})
		}
		d.comms = append(d.comms, comms...)
		i += n
	}
	d.b.UseFunctions(d.f)
	return d.b.MakeEvents()
}

func (d *driven) leave() {
	d.b.Close()
	for _, c := range d.comms {
		_ = d.p.FreeComm(c)
	}
}

func (d *driven) close() {
	d.f.Close()
	for i := range d.streams {
		_ = d.p.FreeStream(d.streams[i])
		_ = d.p.Free(d.arenas[i])
	}
	d.p.Close()
}

// told is what came of one run: the seconds of the driver's ranks by launch, to the last
// bit, or how the run failed and how far each rank got.
type told struct {
	Run     string
	Seconds [][]string
	Failed  string
	Ranks   []native.Progress
}

func (d *driven) tell(run string, seconds []float64, err error) told {
	out := told{Run: run}
	if err != nil {
		out.Failed = err.Error()
		if hang, ok := errors.AsType[*native.HangError](err); ok {
			out.Failed, out.Ranks = "deadline", hang.Ranks
			// Which of several stuck ranks passes the deadline first depends on what other
			// drivers do meanwhile.
			if !hang.Timeout() {
				out.Failed = fmt.Sprintf(onLocalRank, hang.Rank)
			}
		}
		return out
	}
	for at := 0; at+d.count <= len(seconds); at += d.count {
		var row []string
		for _, s := range seconds[at : at+d.count] {
			row = append(row, fmt.Sprintf("%x", s))
		}
		out.Seconds = append(out.Seconds, row)
	}
	return out
}

// sharedCase is what is run of one collective on communicators of size ranks. meet brings
// all drivers together, as the leader's orders do.
func (d *driven) sharedCase(size int, name string, meet func(string)) (out []told, err error) {
	c, err := collective.ByName(name)
	if err != nil {
		return nil, err
	}
	float, err := collective.DtypeByName("float")
	if err != nil {
		return nil, err
	}
	op := ""
	if c.Reduces {
		op = "sum"
	}
	l := c.Layout(16<<10, size, float.Size)
	meet("begin " + name)
	d.p.BeginCase(uint64(size)<<8 + uint64(len(name))) //nolint:gosec // small
	err = d.b.SetWork(native.Work{Collective: name, Dtype: "float", Op: op, Count: l.Count, Slots: 1}, 20)
	if err != nil {
		return nil, err
	}
	seconds, err := d.b.WarmUp(5)
	out = append(out, d.tell(name+" warm-up", seconds, err))
	if err != nil {
		return out, nil //nolint:nilerr // it is what came of it
	}
	var expect []native.Expect
	for i := range d.count {
		want := c.Result((d.first+i)%size, size, 0)
		expect = append(expect, native.Expect{
			Fill: l.SendBytes / 4, Check: int64(want.Blocks) * l.Count, RecvBytes: l.RecvBytes, Reduced: c.Reduces,
			Block: l.Count, Base: int64(want.Base) * l.Count, Source: want.From, Step: want.Step,
		})
	}
	wrong, err := d.b.Verify(expect, 11)
	if err != nil {
		return nil, err
	}
	for _, w := range wrong {
		out = append(out, told{Run: fmt.Sprintf("%s: rank %d: %d wrong, at %d %x for %x", name, d.first+w.Rank, w.Count, w.Index, w.Got, w.Expected)})
	}
	seconds, err = d.b.Burst(7, 0)
	out = append(out, d.tell(name+" burst", seconds, err))
	seconds, err = d.b.Burst(3, 2)
	out = append(out, d.tell(name+" graph", seconds, err))
	seconds, err = d.b.Isolated(6, 1e-3)
	return append(out, d.tell(name+" isolated", seconds, err)), nil
}

// run runs all collectives on the whole world, and then on groups of four, and returns
// what its ranks tell.
func (d *driven) run(ids []native.UniqueID, meet func(string)) (out []told, err error) {
	for _, size := range []int{sharedRanks, 4} {
		meet(fmt.Sprintf("join %d", size))
		err := d.join(size, ids)
		if err != nil {
			return nil, err
		}
		ids = ids[sharedRanks/size:]
		names := native.Collectives()
		if size < sharedRanks {
			names = []string{"all_reduce", "send_recv"}
		}
		for _, name := range names {
			case1, err := d.sharedCase(size, name, meet)
			if err != nil {
				return nil, fmt.Errorf("%s of %d: %w", name, size, err)
			}
			out = append(out, case1...)
			if f := case1[0].Failed; f != "" {
				meet("end")
				d.b.Close()
				return out, nil
			}
		}
		meet("leave")
		d.leave()
	}
	return out, nil
}
