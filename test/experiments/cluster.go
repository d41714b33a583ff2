package experiments

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"zbench/bench/answers/recommend"
	"zbench/bench/base/stat"
	"zbench/bench/job/trainer"
	"zbench/bench/run/record"
)

// Cluster is a machine, a model and a trainer, drawn at random. Question is what a user would know
// about them; the other fields are the truth.
type Cluster struct {
	nodes, ranks int
	network      map[string]network
	params       []trainer.Param
	// backward and forward are the computation times, in seconds, that the user gives.
	backward, forward float64
	// input is the standard deviation of the logarithm of their error. It is smaller if they were
	// measured than if they were computed from FLOP/s.
	input    float64
	noise    float64
	sources  []recommend.Source
	Question recommend.Question
}

// network is the true time of one collective. Its form is that of bench/work/fabric, which is
// neither a power law nor affine: T = max(floor, x + min(A + 2√(Ax), R)). It also has a ripple, and
// a range of sizes in which the library chooses a wrong protocol.
type network struct {
	floor, a, r, perByte   float64
	ripple, phase          float64
	holeLo, holeHi, factor float64
}

func (n network) seconds(s float64) float64 {
	x := s * n.perByte
	t := max(n.floor, x+min(n.a+2*math.Sqrt(n.a*x), n.r))
	t *= 1 + n.ripple*math.Sin(n.phase+2*math.Log(s))
	if n.holeLo < s && s < n.holeHi {
		t *= n.factor
	}
	return t
}

// uniform draws a number between lo and hi. spread does the same, but evenly in the logarithm.
func uniform(rng *rand.Rand, lo, hi float64) float64 { return lo + rng.Float64()*(hi-lo) }

func spread(rng *rand.Rand, lo, hi float64) float64 {
	return lo * math.Exp(rng.Float64()*math.Log(hi/lo))
}

// NewCluster draws the cluster of a seed: 1 to 128 nodes of 8 ranks, 0.3 to 32 G parameters, 1 to
// 32 k tokens per microbatch, and measurements with 1 to 10 % noise.
func NewCluster(seed uint64) Cluster {
	rng := rand.New(rand.NewPCG(seed, 0xb0c4e7))
	c := Cluster{nodes: int(math.Round(spread(rng, 1, 128)))}
	c.ranks = 8 * c.nodes
	c.network = networks(rng, c.nodes)
	c.params = model(rng, spread(rng, 0.3e9, 32e9))
	active := 0.0
	for _, w := range trainer.Work(c.params) {
		active += w
	}
	c.backward = 4 * active * spread(rng, 1024, 32768) / uniform(rng, 200e12, 500e12)
	c.forward = c.backward / 2
	c.input = 0.1
	guessed := rng.IntN(2) == 0
	if guessed {
		c.input = 0.3
	}
	c.Question = recommend.Question{
		Params: c.params, Backward: c.backward, Forward: c.forward, ComputeGuessed: guessed,
		Bootstrap: 200, Seed: seed,
	}
	c.measure(rng)
	c.choose(rng)
	return c
}

// choose draws the trainer.
func (c *Cluster) choose(rng *rand.Rand) {
	q := &c.Question
	q.Run = trainer.Run{DP: c.ranks, GradDtype: "bfloat16", ParamDtype: "bfloat16"}
	switch p := rng.Float64(); {
	case p < 0.45:
		q.Trainer, q.Run.Zero, q.Run.GradDtype = "megatron", 1, "float"
	case p < 0.75:
		q.Trainer = "ddp"
	default:
		q.Trainer, q.Run.Zero = "deepspeed", 1
	}
}

// networks draws the three collectives that reduce gradients. Bandwidths are those of 8 × MI300X
// (320 GB/s in a node, 350 GB/s between nodes with all rails). Latencies are between half and twice
// the fitted ones of bench/work/fabric, which were not measured beyond a few nodes.
func networks(rng *rand.Rand, nodes int) map[string]network {
	bus := 320e9 * uniform(rng, 0.8, 1.1)
	a, r := 7.5e-6, 65e-6
	if nodes > 1 {
		bus = 350e9 * uniform(rng, 0.3, 1.05)
		a = (12 + 2*(6.3+10.5*math.Log2(float64(nodes)))) * 1e-6
		r = 320e-6 * math.Pow(float64(nodes)/2, uniform(rng, 0.2, 0.9))
	}
	scale := spread(rng, 0.5, 2)
	n := float64(8 * nodes)
	hole := spread(rng, 1<<20, 1<<30)
	all := map[string]network{}
	for _, x := range []struct {
		name   string
		factor float64
		share  float64
	}{{"all_reduce", 2 * (n - 1) / n, 1}, {"reduce_scatter", (n - 1) / n, 0.6}, {"all_gather", (n - 1) / n, 0.55}} {
		all[x.name] = network{
			floor: a * x.share, a: a * scale * x.share, r: r * scale * x.share, perByte: x.factor / bus,
			ripple: 0.03, phase: uniform(rng, 0, 2*math.Pi),
			holeLo: hole, holeHi: hole * uniform(rng, 2, 8), factor: uniform(rng, 1.1, 1.8),
		}
	}
	return all
}

// model draws a transformer. total is its approximate number of parameters. Some have tied
// embeddings, some have experts, of which two out of sixteen work.
func model(rng *rand.Rand, total float64) []trainer.Param {
	layers := 16 + rng.IntN(65)
	vocabulary := []float64{32_000, 128_256, 262_272}[rng.IntN(3)]
	tied, experts := rng.IntN(10) < 3, rng.IntN(5) == 0
	perLayer := 12.0
	if experts {
		perLayer = 4 + 16*3
	}
	tables := 2.0
	if tied {
		tables = 1
	}
	a, b := perLayer*float64(layers), tables*vocabulary
	h := math.Max(256, math.Round((math.Sqrt(b*b+4*a*total)-b)/(2*a)/64)*64)
	var params []trainer.Param
	add := func(name string, n float64, work *float64) {
		params = append(params, trainer.Param{Name: name, Elements: int64(n), Work: work})
	}
	add("model.embed_tokens.weight", vocabulary*h, nil)
	for i := range layers {
		layer := "model.layers." + strconv.Itoa(i) + "."
		add(layer+"norm", h, nil)
		add(layer+"qkv", 2*h*h, nil)
		add(layer+"o", 2*h*h, nil)
		add(layer+"mlp_norm", h, nil)
		if experts {
			work := 2 * 3 * h * h
			add(layer+"experts", 16*3*h*h, &work)
			continue
		}
		add(layer+"gate", 8*h*h/3, nil)
		add(layer+"up", 8*h*h/3, nil)
		add(layer+"down", 8*h*h/3, nil)
	}
	add("model.norm", h, nil)
	if tied {
		work := vocabulary * h
		add("tied head", 0, &work)
	} else {
		add("lm_head.weight", vocabulary*h, nil)
	}
	return params
}

// measure makes the curves that zbench's own sweep would find: sizes by factors of two up to 8 GiB,
// in one run or in two.
func (c *Cluster) measure(rng *rand.Rand) {
	c.noise = spread(rng, 0.01, 0.1)
	sizes := map[string][]int64{}
	for _, name := range []string{"all_reduce", "reduce_scatter", "all_gather"} {
		for s := int64(64 << 10); s <= 8<<30; s *= 2 {
			sizes[name] = append(sizes[name], s)
		}
	}
	for range 1 + rng.IntN(2) {
		c.sources = append(c.sources, c.sweep(rng, sizes))
	}
	c.Question.Curves = curvesOf(c.sources)
}

// sweep draws thirty samples of each size. In each sweep, each size also has an error of its own.
func (c *Cluster) sweep(rng *rand.Rand, sizes map[string][]int64) recommend.Source {
	rec := &record.Record{Schema: record.Schema, Source: record.Source{Kind: record.Measured}}
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		for _, s := range sizes[name] {
			t := c.network[name].seconds(float64(s)) * math.Exp(rng.NormFloat64()*c.noise/4)
			series := make([]float64, 30)
			for i := range series {
				series[i] = t * math.Exp(rng.NormFloat64()*c.noise)
			}
			rec.Results = append(rec.Results, record.Result{
				Case: record.Case{Key: name + strconv.FormatInt(s, 10), Status: record.OK}, Collective: name, Dtype: "bfloat16", Bytes: s, Ranks: c.ranks, Nodes: c.nodes,
				GPUsPerProcess: 1, Groups: 1, InPlace: true, Isolated: &record.Timing{MaxOfRanks: stat.Summarize(series)},
			})
		}
	}
	return recommend.Source{Record: rec}
}

func curvesOf(sources []recommend.Source) []recommend.Curve {
	curves, err := recommend.Curves(sources)
	if err != nil {
		panic(err) // sizes are total sizes, so this cannot fail
	}
	return curves
}

// AnswerSizes measures, in every run, the sizes that an answer recommends to measure, as zbench
// does.
func (c *Cluster) AnswerSizes(a recommend.Answer) {
	rng := rand.New(rand.NewPCG(c.Question.Seed, 0x2))
	sizes := map[string][]int64{}
	for _, u := range a.Curves {
		sizes[u.Collective] = u.Refine
	}
	for i := range c.sources {
		rec := *c.sources[i].Record
		rec.Results = slices.Concat(rec.Results, c.sweep(rng, sizes).Record.Results)
		c.sources[i] = recommend.Source{Record: &rec}
	}
	c.Question.Curves = curvesOf(c.sources)
}
