package plan

import (
	"context"
	"fmt"
	"slices"

	"zbench/bench/hardware/policy"
)

// Comms are the communicators of a case: Count of them, with Ranks ranks each. Together they hold
// the first Ranks × Count ranks of the world.
type Comms struct {
	Split Split `json:"split"`
	Ranks int   `json:"ranks"`
	Count int   `json:"count"`
	// Policy describes how the communicators are made, and how buffers are registered with them.
	Policy policy.Policy `json:"policy,omitzero"`
	// FromSplit is true if the communicators are made by splitting one of all their ranks, without
	// sharing its resources.
	FromSplit bool `json:"from_split,omitempty"`
}

// Comms returns the communicators of the case.
func (c Case) Comms() Comms {
	return Comms{Split: c.Split, Ranks: c.Ranks, Count: max(c.Parallel, 1), Policy: c.Policy, FromSplit: c.Way.Split}
}

// Joined returns the communicators that are made of unique ids: c itself, or the communicator that is
// split.
func (c Comms) Joined() Comms {
	if c.FromSplit {
		return Comms{Ranks: c.Active(), Count: 1, Policy: c.Policy}
	}
	return c
}

// check refuses communicators without ranks, which only a damaged order has.
func (c Comms) check() error {
	if c.Ranks < 1 || c.Count < 1 {
		return fmt.Errorf("%w: %d communicators of %d ranks", errOrder, c.Count, c.Ranks)
	}
	return nil
}

// Active returns the number of ranks in the communicators. They are the first ranks of the world.
func (c Comms) Active() int { return c.Ranks * c.Count }

// Held is one process's part of one communicator.
type Held struct {
	// Group is the number of the communicator. First is the number of the process's first rank in this
	// communicator. The process's other ranks follow.
	Group, First int
	// Ranks are the world ranks of the part.
	Ranks []int
}

// Held lists the parts of the communicators that belong to a process with count ranks from first
// on, by ascending communicator. All processes join in this order, because with different orders
// two processes could wait for each other.
func (c Comms) Held(first, count int) []Held {
	var all []Held
	for group := range c.Count {
		h := Held{Group: group}
		for i := range c.Ranks {
			if rank := c.Split.Rank(group, i, c.Ranks); rank >= first && rank < first+count {
				if h.Ranks == nil {
					h.First = i
				}
				h.Ranks = append(h.Ranks, rank)
			}
		}
		if h.Ranks != nil {
			all = append(all, h)
		}
	}
	return all
}

// CommID is the unique id of a communicator, made by the process of its rank 0 and used once.
type CommID struct {
	Group int    `json:"group"`
	ID    []byte `json:"id"`
}

// Addressed are Followers that can receive separate orders. Otherwise every process gets the ids of
// all communicators: 64 KiB for 512 of them.
type Addressed interface {
	// SendEach sends each follower its order, in the order of the processes' ranks.
	SendEach([]Order)
}

// IDs makes the unique ids of the communicators whose rank 0 is in one of the processes.
func (g *Group) IDs(c Comms) ([]CommID, error) {
	reports, err := g.do(Order{Verb: MakeIDs{Comms: c}})
	if err != nil {
		return nil, err
	}
	var all []CommID
	for i, r := range reports {
		for _, h := range c.Joined().Held(g.first[i], g.world[i].Ranks) {
			if h.First > 0 {
				continue
			}
			at := slices.IndexFunc(r.IDs, func(id CommID) bool { return id.Group == h.Group })
			if at < 0 {
				return nil, fmt.Errorf("%s made no id for communicator %d, whose rank 0 it holds", g.name(i), h.Group)
			}
			all = append(all, r.IDs[at])
		}
	}
	return all, nil
}

// Join replaces the communicators in all processes.
func (g *Group) Join(_ context.Context, c Comms, ids []CommID) error {
	g.lanes, g.staged, g.active, g.unverifiable = nil, false, c.Active(), ""
	return g.sendIDs(Join{Comms: c, IDs: ids})
}

// JoinBeside joins further communicators in all processes and keeps the current ones.
func (g *Group) JoinBeside(_ context.Context, c Comms, ids []CommID) error {
	return g.sendIDs(Join{Comms: c, IDs: ids, Beside: true})
}

// sendIDs sends each process the ids that it needs.
func (g *Group) sendIDs(join Join) error {
	c := join.Comms
	orders := make([]Order, len(g.world))
	for i, m := range g.world {
		own := Join{Comms: c, Beside: join.Beside}
		for _, h := range c.Joined().Held(g.first[i], m.Ranks) {
			at := slices.IndexFunc(join.IDs, func(id CommID) bool { return id.Group == h.Group })
			if at < 0 {
				return fmt.Errorf("no id for communicator %d of %d", h.Group, c.Count)
			}
			own.IDs = append(own.IDs, join.IDs[at])
		}
		orders[i].Verb = own
	}
	reports, err := g.doEach(Order{Verb: join}, orders)
	if err != nil {
		return err
	}
	g.lanes = append(g.lanes, c)
	for i, r := range reports {
		if r.Unverifiable != "" && g.unverifiable == "" {
			g.unverifiable = fmt.Sprintf("process %d: %s", i, r.Unverifiable)
		}
	}
	return nil
}

// joined joins the communicators of a case, unless the current case has the same.
func (g *Group) joined(ctx context.Context, c Comms) error {
	if len(g.lanes) > 0 && g.lanes[0] == c {
		return nil
	}
	ids, err := g.IDs(c)
	if err == nil {
		err = g.Join(ctx, c, ids)
	}
	return err
}
