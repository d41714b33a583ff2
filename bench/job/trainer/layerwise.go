package trainer

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Megatron-Core's layer-wise optimizer. --use-distributed-optimizer selects it for Muon and every
// other optimizer except Adam and SGD. Read in NVIDIA/Megatron-LM at d98e8a64:
// megatron/core/optimizer/layer_wise_optimizer.py, _compute_per_buffer_param_layout (the rule);
// training/arguments.py (for which optimizers); training/training.py, wrap_model_chunks_with_ddp
// (both kinds of buffers are scattered); distributed/param_and_grad_buffer.py,
// group_params_for_buffers (matrices have a buffer of their own; all other tensors stay with the
// distributed optimizer).
//
// Each matrix lies whole in one rank's share, so a bucket is dp times its largest share. A bucket
// stays open until it holds max(setting, 0.9 · dp · its largest matrix) elements, and longer while
// the next matrix fits into the padding.
const (
	floorShare = 0.9 // PADDING_FLOOR
	unevenness = 0.3 // _NUMEL_EPSILON: how far a share may exceed the mean
)

// wholeBuckets cuts the matrices by the layer-wise rule. It cuts all other tensors as the
// distributed optimizer does.
func wholeBuckets(in *prepared, setting int64, run Run) []Bucket {
	matrices := both(in.matrices, func(_ packing, expert bool) []Bucket {
		return newWholePacking(in, run, expert).buckets(setting, &in.packed[kindOf(expert)])
	})
	rest := both(in.rest, func(p packing, expert bool) []Bucket {
		p.align, p.divisor = megatronAlign, Divisor(run.Ranks(expert), run.PadBuckets)
		return p.atLeast(setting)
	})
	all := slices.Concat(matrices, rest)
	inOrder(all, func(a, b Bucket) int { return cmp.Compare(b.First, a.First) })
	return all
}

// piece is one matrix. Field `at` is the matrix's index in the list.
type piece struct {
	at       int
	elements int64
	shaped   bool // whether the shape is known
	cost     float64
}

// pieces returns the matrices in backward order.
func (p packing) pieces() []piece {
	all := make([]piece, 0, len(p.order))
	for _, i := range p.order {
		x := p.params[i]
		all = append(all, piece{at: i, elements: x.Elements, shaped: len(x.Shape) == 2, cost: stepCost(x)})
	}
	return all
}

// wholePacking packs the pieces of one buffer.
type wholePacking struct {
	all     []piece
	dp      int64
	divisor int64 // divisor of a share's size
	expert  bool
	// loads has the work of each rank, summed over the buckets. open has the shares of the bucket
	// that is being filled.
	loads, open *shares
}

func newWholePacking(in *prepared, run Run, expert bool) *wholePacking {
	w := packingOf(in.pieces[kindOf(expert)], run.Ranks(expert), run.PadBuckets)
	w.expert = expert
	return w
}

// packingOf prepares to pack pieces for a group of ranks.
func packingOf(all []piece, ranks int, pad bool) *wholePacking {
	dp := int64(ranks)
	return &wholePacking{all: all, dp: dp, divisor: lcm(megatronAlign, Divisor(ranks, pad)/dp), open: newShares(ranks)}
}

// kindOf returns the index of dense tensors or of experts.
func kindOf(expert bool) int {
	if expert {
		return 1
	}
	return 0
}

// chunking has the pieces of each bucket. The limits `over` and upTo bound the settings that cut
// the same chunks: over < setting ≤ upTo.
type chunking struct {
	chunks     [][]piece
	over, upTo int64
}

// packed is a chunking with the buckets made from it.
type packed struct {
	chunking
	buckets []Bucket
}

// buckets packs the chunks of a setting. If an earlier setting had the same chunks, it returns that
// result.
func (w *wholePacking) buckets(setting int64, before *[]packed) []Bucket {
	for _, x := range *before {
		if x.over < setting && setting <= x.upTo {
			return x.buckets
		}
	}
	now := packed{chunking: w.chunks(setting)}
	w.loads = newShares(int(w.dp))
	for _, chunk := range now.chunks {
		now.buckets = append(now.buckets, w.bucket(chunk))
	}
	*before = append(*before, now)
	return now.buckets
}

// chunks cuts the pieces into chunks. A setting of 0 makes one chunk.
func (w *wholePacking) chunks(setting int64) chunking {
	cut := chunking{over: 0, upTo: math.MaxInt64}
	if setting == 0 {
		cut.over, cut.upTo = -1, 0
	}
	for start := 0; start < len(w.all); {
		end := w.end(start, setting, &cut)
		cut.chunks = append(cut.chunks, w.all[start:end])
		start = end
	}
	return cut
}

// end returns the end of the chunk that begins at start. Where only the setting decides, method
// `end` narrows the range of settings that cut the same chunks.
func (w *wholePacking) end(start int, setting int64, cut *chunking) int {
	held, largest, share := int64(0), int64(0), int64(0)
	w.open.empty()
	for i, x := range w.all[start:] {
		if setting > 0 && i > 0 && held >= int64(floorShare*float64(w.dp*largest)) &&
			roundUp(w.open.least(), megatronAlign)+x.elements > roundUp(share, w.divisor) {
			if held >= setting {
				cut.upTo = min(cut.upTo, held)
				return start + i
			}
			cut.over = max(cut.over, held)
		}
		share = max(share, w.open.put(w.open.emptiest(), x))
		held += x.elements
		largest = max(largest, x.elements)
	}
	return len(w.all)
}

// bucket assigns each piece to a rank, beginning with the piece with the most work. It chooses the
// rank with the least work among the ranks whose share has room. If no share has room, it chooses
// the rank with the emptiest share.
func (w *wholePacking) bucket(chunk []piece) Bucket {
	b := Bucket{Expert: w.expert, Whole: true, First: chunk[0].at, Last: chunk[0].at, Params: len(chunk)}
	used := int64(0)
	for _, x := range chunk {
		b.First, b.Last = min(b.First, x.at), max(b.Last, x.at)
		used += x.elements
	}
	room := float64(used) / float64(w.dp) * (1 + unevenness)
	w.loads.empty()
	share := int64(0)
	byWork := slices.Clone(chunk)
	slices.SortStableFunc(byWork, func(a, b piece) int { return cmp.Compare(b.cost, a.cost) })
	for _, x := range byWork {
		at := w.loads.find(func(filled int64) bool { return float64(roundUp(filled, megatronAlign)+x.elements) <= room })
		share = max(share, w.loads.put(at, x))
	}
	b.Elements = w.dp * roundUp(share, w.divisor)
	b.Padding = b.Elements - used
	return b
}

// excluded are parts of the names of matrices that Muon leaves to another optimizer: the embedding
// and the output layer (is_embedding_or_output_parameter in Megatron-Core's language_module.py) and
// Mamba's input projection (use_muon in ssm/mamba_mixer.py), as Hugging Face, Megatron and
// torchtitan name them. A position table counts as a matrix like any other.
var excluded = []string{
	"embed_tokens.", "wte.", "word_embeddings.", "tok_embeddings.", "embedding.",
	"lm_head.", "output_layer.", "embed_out.", "mixer.in_proj.",
}

// vectors are parts of the names of tensors that are not matrices. They are used for lists without
// shapes.
var vectors = []string{"norm", "bias", "ln_1", "ln_2", "ln_f", "scale", "conv", "a_log", "dt_", "temp"}

// Matrix reports whether Muon steps the tensor. Such a tensor has two dimensions and is neither the
// embedding nor the output layer. Without a shape, its name decides. Read in NVIDIA/Megatron-LM at
// d98e8a64, megatron/core/optimizer/layer_wise_optimizer.py, is_managed_by_layer_wise_optimizer.
func Matrix(p Param) bool {
	name := strings.ToLower(p.Name) + "."
	if p.Elements == 0 || contains(name, excluded) || name == "output." || name == "output.weight." {
		return false
	}
	if p.Shape != nil {
		return len(p.Shape) == 2
	}
	return !contains(name, vectors)
}

func contains(name string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(name, part) })
}

// stepCost returns the relative cost of Newton–Schulz for a matrix: its long side times the square
// of its short side. If the shape is unknown, the matrix is assumed to be square.
func stepCost(p Param) float64 {
	if len(p.Shape) != 2 {
		return math.Pow(float64(p.Elements), 1.5)
	}
	short, long := min(p.Shape[0], p.Shape[1]), max(p.Shape[0], p.Shape[1])
	return float64(long) * float64(short) * float64(short)
}

// shares holds the ranks' shares of a bucket as a tree over the ranks. Each node has the least work
// and the least fill in its subtree, so that a search visits only few ranks.
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

// find returns the rank with the least work among the ranks that have room. If none has room, it
// returns the emptiest rank. Among equal ranks it returns the first.
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
	return s.emptiest()
}

// Method least returns the fill of the emptiest share.
func (s *shares) least() int64 { return s.filled[1] }

// emptiest returns the rank with the emptiest share. Among equal ranks it returns the first.
func (s *shares) emptiest() int {
	node := 1
	for node < s.leaves {
		node *= 2
		if s.filled[node+1] < s.filled[node] {
			node++
		}
	}
	return node - s.leaves
}

// put adds a piece to the share of a rank and returns the new fill of that share.
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
