package plan

import (
	"context"
	"errors"
	"fmt"

	"zbench/bench/run/record"
)

// Exchange is one round of messages on the communicator of all ranks: every rank sends a message to
// one rank and receives one, or does neither. It is timed like isolated launches: an aligning
// all_reduce, then events around the messages.
type Exchange struct {
	// Case is a send_recv of all ranks; its size is the message size.
	Case Case `json:"case"`
	// Round is the number of the round.
	Round int `json:"round"`
	// To and From are the peers of each rank, by rank; −1 for none. From is nil if every
	// rank receives from the rank that it sends to.
	To   []int `json:"to"`
	From []int `json:"from,omitempty"`
	// Warmup is the number of launches before the timing, which connect the peers; Launches is the
	// number of timed launches. Each is at most MaxBatch.
	Warmup   int `json:"warmup"`
	Launches int `json:"launches"`
}

// Peers returns the peers of a rank, −1 for none.
func (e Exchange) Peers(rank int) (to, from int) {
	if to = e.To[rank]; e.From == nil {
		return to, to
	}
	return to, e.From[rank]
}

// Check refuses inconsistent peers, because the ranks would wait for ever.
func (e Exchange) Check(ranks int) error {
	if len(e.To) != ranks || e.From != nil && len(e.From) != ranks {
		return fmt.Errorf("an exchange of %d and %d peers for %d ranks", len(e.To), len(e.From), ranks)
	}
	if e.Launches < 1 || e.Launches > MaxBatch || e.Warmup < 0 || e.Warmup > MaxBatch {
		return fmt.Errorf("an exchange of %d launches after %d: 1 to %d are allowed", e.Launches, e.Warmup, MaxBatch)
	}
	for rank := range ranks {
		to, from := e.Peers(rank)
		for _, peer := range []int{to, from} {
			if peer < -1 || peer >= ranks || peer == rank {
				return fmt.Errorf("rank %d exchanges with rank %d of %d", rank, peer, ranks)
			}
		}
		if to >= 0 {
			if _, back := e.Peers(to); back != rank {
				return fmt.Errorf("rank %d sends to rank %d, which receives from rank %d", rank, to, back)
			}
		}
		if from >= 0 {
			if there, _ := e.Peers(from); there != rank {
				return fmt.Errorf("rank %d receives from rank %d, which sends to rank %d", rank, from, there)
			}
		}
	}
	return nil
}

// Exchanger is a Driver that runs rounds of messages.
type Exchanger interface {
	// Exchange returns the seconds of each timed launch by launch × rank. The values of a rank without peers
	// are meaningless.
	Exchange(ctx context.Context, e Exchange) ([]float64, error)
}

var errNoExchange = errors.New("this driver has no rounds of messages")

// Exchange runs the round in all processes.
func (g *Group) Exchange(ctx context.Context, e Exchange) ([]float64, error) {
	if err := e.Check(g.first[len(g.world)]); err != nil {
		return nil, err
	}
	if err := g.joined(ctx, e.Case.Comms()); err != nil {
		return nil, err
	}
	return g.timed(Order{Verb: e, Counters: g.counting}, e.Launches)
}

// Name returns the verb.
func (Exchange) Name() string { return "exchange" }

func (e Exchange) batch() (string, int, bool) { return record.DuringIsolated, e.Launches, true }

func (e Exchange) carryOut(w *worker, r *Report) (err error) {
	d, can := w.p.(Exchanger)
	if !can {
		return errNoExchange
	}
	r.Seconds, err = d.Exchange(w.whole(), e)
	return err
}
