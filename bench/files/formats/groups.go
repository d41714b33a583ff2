package formats

import (
	"cmp"
	"encoding/json"

	"zbench/bench/files/trace"
)

// groupTable is a file's table of process groups, by name.
type groupTable map[string]trace.Group

// pgConfig is a process group as PyTorch writes it.
type pgConfig struct {
	Name   word   `json:"pg_name"`
	Desc   word   `json:"pg_desc"`
	Size   number `json:"pg_size"`
	Groups number `json:"group_size"`
	Ranks  word   `json:"ranks"`
}

// add reads groups from a JSON list or from an object with the names as keys. It ignores an
// impossible size.
func (g groupTable) add(t *trace.Trace, text []byte) {
	var list []pgConfig
	if json.Unmarshal(text, &list) != nil {
		var byName map[string]pgConfig
		if json.Unmarshal(text, &byName) != nil {
			return
		}
		for name, one := range byName {
			one.Name = cmp.Or(one.Name, word(name))
			list = append(list, one)
		}
	}
	for _, one := range list {
		ranks := listed(string(one.Ranks))
		size := max(one.Size.whole(), one.Groups.whole(), int64(len(ranks)))
		if size > maxRanks || len(g) > maxGroups {
			continue
		}
		t.World = max(t.World, int(size))
		g[limited(string(one.Name))] = trace.Group{Name: limited(string(one.Name)), Description: limited(string(one.Desc)), Size: int(size), Ranks: ranks}
	}
}

// settle adds a rank to the trace and completes the groups of its calls from the table.
func (g groupTable) settle(t *trace.Trace, r *trace.Rank) {
	for i := range t.Groups {
		x := &t.Groups[i]
		known := g[x.Name]
		x.Description, x.Size = cmp.Or(x.Description, known.Description), cmp.Or(x.Size, known.Size)
		if len(x.Ranks) == 0 && len(known.Ranks) == x.Size {
			x.Ranks = known.Ranks
		}
	}
	for i := range r.Calls { // calls may precede their groups in the file
		if c := &r.Calls[i]; c.In >= 0 || c.Out >= 0 {
			c.Size(t.Groups[c.Group].Size)
		}
	}
	t.Ranks = append(t.Ranks, r)
	t.Settle()
}

// numbered returns the number of a name. Names are numbered from 0 in order of appearance.
func numbered[K comparable, N int | int32](of map[K]N, name K) N {
	n, met := of[name]
	if !met {
		n = N(len(of))
		of[name] = n
	}
	return n
}

// Type `within` finds a rank's number in the job from the rank's numbers in groups. If a group's
// list of ranks is known, the list gives the number. Otherwise the number in the largest group is
// used.
type within struct {
	rank, size int
}

// number stores a rank's number in a group.
func (w *within) number(n int64, g trace.Group) {
	switch {
	case n < 0 || n >= maxRanks:
	case len(g.Ranks) == g.Size && int(n) < g.Size:
		w.rank, w.size = g.Ranks[n], maxRanks
	case w.rank < 0 || g.Size > w.size:
		w.rank, w.size = int(n), g.Size
	}
}
