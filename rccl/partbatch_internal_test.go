package rccl

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/stretchr/testify/require"

	"zbench/bench/hardware/policy"
	"zbench/internal/native"
)

// newBatch is the process's part of a batch of all ranks in the communicators.
func (p *party) newBatch(ranks int) launcher {
	p.batches++
	return &partBatch{party: p, ranks: make([]native.Rank, ranks), key: fmt.Sprint("batch ", p.batches)}
}

// partBatch is a launcher: what the processes launch together, the loopback launches at
// once.
type partBatch struct {
	*party
	key      string
	ranks    []native.Rank
	apart    bool
	work     native.Work
	deadline float64
	moved    bool // SetWork was called since the last launch
	launches int
	expect   []native.Expect
	// with is the number of processes with ranks in the batch, all that of their ranks.
	with, all int
}

func (b *partBatch) SetRank(i int, r native.Rank)     { b.ranks[i] = r }
func (b *partBatch) SetPeers(int, int, int)           {}
func (b *partBatch) SetCalls(policy.Calls)            {}
func (b *partBatch) SetApart(apart bool)              { b.apart = apart }
func (b *partBatch) UseFunctions(f *native.Functions) { require.NotNil(b.t, f) }
func (b *partBatch) Cancel()                          {}
func (b *partBatch) Close()                           {}
func (b *partBatch) Held() bool                       { return b.batch.Held() }

// EnqueueSeconds differs by process: the first host is the slowest.
func (b *partBatch) EnqueueSeconds() float64 { return b.batch.EnqueueSeconds() / float64(1+b.number) }

func (b *partBatch) SetWork(w native.Work, d float64) error {
	b.work, b.deadline, b.moved = w, d, true
	return nil
}

func (b *partBatch) SetDeadline(d float64) { b.deadline = d }

// MakeEvents is the last call before a batch is used: the whole batch is made.
func (b *partBatch) MakeEvents() error {
	out := b.meet(b.key, b.processes, b, func(parts []any) any {
		if b.batch != nil {
			b.batch.Close()
		}
		b.all, b.with = 0, 0
		for _, one := range parts {
			part := one.(*partBatch)
			if b.all += len(part.ranks); len(part.ranks) > 0 {
				b.with++
			}
			require.Equal(b.t, b.processes > 1, part.apart)
		}
		for _, one := range parts {
			one.(*partBatch).all, one.(*partBatch).with = b.all, b.with
		}
		b.batch = b.p.NewBatch(b.all)
		b.place(parts)
		b.batch.UseFunctions(b.functions)
		return []any{b.batch.MakeEvents()}
	})
	err, _ := out.([]any)[0].(error)
	return err
}

func (b *partBatch) place(parts []any) {
	for _, one := range parts {
		part := one.(*partBatch)
		for i, r := range part.ranks {
			b.batch.SetRank(part.first+i, r)
		}
	}
	b.batch.UseFunctions(b.functions)
}

// result is what came of a launch on all ranks.
type result struct {
	seconds []float64
	wrong   []native.Wrong
	err     error
}

// launch does what all processes ask for, which must be the same, on all ranks.
func (b *partBatch) launch(what string, do func(parts []*partBatch) result) result {
	b.launches++
	key := fmt.Sprintf("%s, launch %d", b.key, b.launches)
	out := b.meet(key, b.with, launch{b, what}, func(all []any) any {
		slices.SortFunc(all, func(a, c any) int { return a.(launch).first - c.(launch).first })
		var parts []*partBatch
		var bare []any
		for _, one := range all {
			l := one.(launch)
			if l.what != what || !reflect.DeepEqual(l.work, b.work) || l.moved != b.moved || l.deadline != b.deadline {
				panic(fmt.Sprintf("processes that differ: %s of %+v, %s of %+v", what, b.work, l.what, l.work))
			}
			parts, bare = append(parts, l.partBatch), append(bare, l.partBatch)
		}
		b.place(bare)
		if b.moved {
			if err := b.batch.SetWork(b.work, b.deadline); err != nil {
				return result{err: err}
			}
		}
		for _, p := range parts {
			p.moved = false
		}
		out := do(parts)
		out.seconds = slices.Clone(out.seconds)
		return out
	}).(result)
	return b.own(out)
}

type launch struct {
	*partBatch
	what string
}

// own keeps of a result what is of this process's ranks.
func (b *partBatch) own(r result) (out result) {
	first, n := b.first, len(b.ranks)
	for row := range slices.Chunk(r.seconds, b.all) {
		out.seconds = append(out.seconds, row[first:first+n]...)
	}
	for _, w := range r.wrong {
		if w.Rank >= first && w.Rank < first+n {
			w.Rank -= first
			out.wrong = append(out.wrong, w)
		}
	}
	out.err = r.err
	if hang, ok := r.err.(*native.HangError); ok { //nolint:errorlint // as the batch returns it
		part := *hang
		part.Ranks, part.Rank = hang.Ranks[first:first+n], max(0, hang.Rank-first)
		out.err = &part
	}
	return out
}

func (b *partBatch) times(what string, do func() ([]float64, error)) ([]float64, error) {
	r := b.launch(what, func([]*partBatch) (r result) {
		r.seconds, r.err = do()
		return r
	})
	return r.seconds, r.err
}

func (b *partBatch) WarmUp(n int) ([]float64, error) {
	return b.times(fmt.Sprint("warm-up ", n), func() ([]float64, error) { return b.batch.WarmUp(n) })
}

func (b *partBatch) Bursts(all []float64, n, replays int) error {
	for row := range slices.Chunk(all, len(b.ranks)) {
		seconds, err := b.times(fmt.Sprint("burst ", n, replays), func() ([]float64, error) { return b.batch.Burst(n, replays) })
		if err != nil {
			return err
		}
		copy(row, seconds)
	}
	return nil
}

func (b *partBatch) Isolated(n int, hold float64) ([]float64, error) {
	return b.times(fmt.Sprint("isolated ", n, hold), func() ([]float64, error) { return b.batch.Isolated(n, hold) })
}

// EventFloor is each process's own: its pairs are those of all ranks.
func (b *partBatch) EventFloor(n int) ([]float64, error) {
	return b.times(fmt.Sprint("event floor ", n), func() ([]float64, error) { return b.batch.EventFloor(n) })
}

func (b *partBatch) Verify(expect []native.Expect, seed uint64, blocks ...native.Block) ([]native.Wrong, error) {
	b.expect = expect
	r := b.launch(fmt.Sprint("verify ", seed), func(parts []*partBatch) (r result) {
		var all []native.Expect
		n := max(1, len(blocks))
		for i := range n * len(parts) { // a block's ranks lie together
			own := parts[i%len(parts)].expect
			each := len(own) / n
			all = append(all, own[i/len(parts)*each:][:each]...)
		}
		r.wrong, r.err = b.batch.Verify(all, seed, blocks...)
		return r
	})
	return r.wrong, r.err
}
