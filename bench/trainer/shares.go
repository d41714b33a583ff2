package trainer

import "math"

// shares are the ranks' shares of a bucket, in a tree over the ranks. Each node has the
// least work and the least fill of its subtree, so that a search visits few ranks.
type shares struct {
	ranks, leaves int
	work          []float64
	filled        []int64
}

func newShares(ranks int) *shares {
	s := &shares{ranks: ranks, leaves: 1}
	for s.leaves < ranks {
		s.leaves *= 2
	}
	s.work, s.filled = make([]float64, 2*s.leaves), make([]int64, 2*s.leaves)
	for i := ranks; i < s.leaves; i++ {
		s.work[s.leaves+i] = math.Inf(1)
	}
	for i := s.leaves - 1; i > 0; i-- {
		s.work[i] = min(s.work[2*i], s.work[2*i+1])
	}
	s.empty()
	return s
}

// empty starts a new bucket: it resets the fill and keeps the work.
func (s *shares) empty() {
	clear(s.filled)
	for i := s.ranks; i < s.leaves; i++ {
		s.filled[s.leaves+i] = math.MaxInt64
	}
	for i := s.leaves - 1; i > 0; i-- {
		s.filled[i] = min(s.filled[2*i], s.filled[2*i+1])
	}
}

// find is the rank with the least work of those with room, otherwise the emptiest; the
// first of equals.
func (s *shares) find(fits func(filled int64) bool) int {
	best, least := -1, math.Inf(1)
	var visit func(node int)
	visit = func(node int) {
		switch {
		case s.work[node] >= least || s.filled[node] == math.MaxInt64 || !fits(s.filled[node]):
		case node >= s.leaves:
			best, least = node-s.leaves, s.work[node]
		default:
			visit(2 * node)
			visit(2*node + 1)
		}
	}
	visit(1)
	if best >= 0 {
		return best
	}
	node := 1
	for node < s.leaves {
		node *= 2
		if s.filled[node+1] < s.filled[node] {
			node++
		}
	}
	return node - s.leaves
}

// put adds a piece to a share and returns how far it is filled.
func (s *shares) put(rank int, x piece) int64 {
	at := s.leaves + rank
	s.filled[at] = roundUp(s.filled[at], megatronAlign) + x.elements
	s.work[at] += x.cost
	for i := at / 2; i > 0; i /= 2 {
		s.work[i] = min(s.work[2*i], s.work[2*i+1])
		s.filled[i] = min(s.filled[2*i], s.filled[2*i+1])
	}
	return s.filled[at]
}

// leastHeap holds how far the shares of an open bucket are filled, the emptiest
// first.
type leastHeap struct {
	filled []int64
	most   int64
}

func newHeap(ranks int) *leastHeap { return &leastHeap{filled: make([]int64, ranks)} }

func (h *leastHeap) least() int64 { return h.filled[0] }

// add replaces the emptiest share's, and moves it down to its place.
func (h *leastHeap) add(filled int64) {
	h.most = max(h.most, filled)
	at := 0
	for {
		child := 2*at + 1
		if child+1 < len(h.filled) && h.filled[child+1] < h.filled[child] {
			child++
		}
		if child >= len(h.filled) || h.filled[child] >= filled {
			break
		}
		h.filled[at], at = h.filled[child], child
	}
	h.filled[at] = filled
}

func (h *leastHeap) reset() {
	clear(h.filled)
	h.most = 0
}
