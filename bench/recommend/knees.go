// Knees are the message sizes from which on a collective reaches a share of its plateau.
// They take a record alone. A bucket size also takes the model and its backward time, which
// is why an answer says what is missing (KneeNeed).

package recommend

import (
	"cmp"
	"slices"

	"zbench/bench/collective"
	"zbench/bench/jsonfile"
	"zbench/bench/record"
)

// Schema names the version of knees.json.
const KneesSchema = "zbench.knees/1"

// Limits below and beyond which the answer changes its wording.
const (
	// MinSizes and MinDecades are what a curve must span before a knee is read
	// from it: with less, the plateau is a guess.
	kneeMinSizes   = 5
	kneeMinDecades = 2.0
	// MaxOctaveGrowth is the growth over the last octave up to which a curve
	// counts as saturated.
	MaxOctaveGrowth = 0.05
)

// Fractions are the shares of the plateau that are answered, ascending.
var fractions = []float64{0.5, 0.8, 0.9}

// Answer is what one record says about message sizes. All values are in base
// units: bytes, bytes per second.
type Knees struct {
	// Version of the format.
	Schema string `json:"schema"`
	// Simulated is true when a model, not hardware, decided the times.
	Simulated bool `json:"simulated"`
	// Curves are the record's collectives over message sizes.
	Curves []KneeCurve `json:"curves"`
	// Needs are what is missing for a bucket size.
	Needs []Need `json:"needs"`
	// Warnings are doubts about the record.
	Warnings []record.Warning `json:"warnings"`
}

// Curve is one collective over message sizes, everything else being equal.
type KneeCurve struct {
	// Collective is the name of the collective.
	Collective string `json:"collective"`
	// Dtype is the element type, as rccl-tests names it.
	Dtype string `json:"dtype"`
	// Op is the reduction operator; empty where the collective has none.
	Op string `json:"op"`
	// Ranks is the number of ranks; 0 when not known.
	Ranks int `json:"ranks"`
	// Nodes is the number of nodes; 0 when not known.
	Nodes int `json:"nodes"`
	// GPUsPerProcess is how many GPUs one process drives; 0 when not known.
	GPUsPerProcess int `json:"gpus_per_process"`
	// Groups is the number of communicators of this many ranks that ran at once.
	Groups int `json:"groups"`
	// Stride is how far apart the ranks of each group are; absent where they are
	// neighbours.
	Stride int `json:"stride,omitempty"`
	// InPlace is true for one buffer, false for two.
	InPlace bool `json:"in_place"`
	// Setup says in which devices or settings the curve differs from others that are else
	// alike; absent where there are none.
	Setup string `json:"setup,omitempty"`
	// Timing names the time behind the bus bandwidth.
	Timing string `json:"timing"`
	// Sizes is the number of distinct sizes used.
	Sizes int `json:"sizes"`
	// NotOK is the number of results of this curve that were left out because they did not
	// end ok.
	NotOK int `json:"not_ok"`
	// PlateauBusBW is the largest bus bandwidth of the curve, in bytes per second.
	PlateauBusBW float64 `json:"plateau_busbw"`
	// PlateauBytes is the smallest size that has it, in bytes.
	PlateauBytes int64 `json:"plateau_bytes"`
	// Saturated is true where the bus bandwidth grew by at most 5 % over the last octave
	// of sizes.
	Saturated bool `json:"saturated"`
	// LastOctaveGrowth is that growth as a ratio, less one; null where the curve is
	// shorter.
	LastOctaveGrowth *float64 `json:"last_octave_growth"`
	// Extrapolated is true when the model behind any time of the curve has parts that were
	// never measured.
	Extrapolated bool `json:"extrapolated"`
	// Points are the shares of the plateau with the sizes that reach them.
	Points []KneePoint `json:"points"`
	// Reason says why there are no points.
	Reason string `json:"reason,omitempty"`
	// Holes are sizes that the library handles worse than their neighbours.
	Holes []Hole `json:"holes"`
}

// Point is one share of the plateau and the sizes that reach it.
type KneePoint struct {
	// Fraction is the share of the plateau, a ratio.
	Fraction float64 `json:"fraction"`
	// Bytes is the smallest total size from which on every larger one, up to up_to_bytes,
	// reaches the share.
	Bytes int64 `json:"bytes"`
	// Elements is that size in elements of the dtype; 0 where its width is not known.
	Elements int64 `json:"elements"`
	// PerRankBytes is that size divided by the ranks, in bytes: a rank's share.
	PerRankBytes int64 `json:"per_rank_bytes"`
	// BusBW is the bus bandwidth at that size, in bytes per second.
	BusBW float64 `json:"busbw"`
	// FirstBytes is the size at which the share is reached for the first time, in bytes:
	// less than bytes where the curve falls below it again.
	FirstBytes int64 `json:"first_bytes"`
	// UpToBytes is the size beyond the plateau up to which the share holds, in bytes; null
	// when it holds to the end of the sweep.
	UpToBytes *int64 `json:"up_to_bytes"`
	// AtSmallestSize is true when the smallest size of the sweep reaches the
	// share already, so that the real knee may be smaller.
	AtSmallestSize bool `json:"at_smallest_size"`
}

// Need is something that is missing for a bucket size, and how to give it.
type Need struct {
	// What says what is missing.
	What string `json:"what"`
	// How says how to give it.
	How string `json:"how"`
}

// Knees reads the sizes at 50, 80 and 90 % of the plateau from every curve of
// the record. The order of the record's results does not matter.
//
// Between two neighbouring sizes the time is taken as a power law, log T
// linear in log S, which is positive, does not overshoot, and has its solution
// in closed form. Of the sizes that reach a share, the answer is the stretch
// around the plateau, not the first crossing: a trainer's real buckets overshoot
// the size it is given by up to one parameter tensor, so a size is only safe
// when the larger ones are good too. FirstBytes keeps the first crossing.
func KneesOf(rec *record.Record) Knees {
	a := Knees{
		Schema: KneesSchema, Simulated: rec.Simulated,
		Curves: []KneeCurve{}, Needs: kneeNeeds(rec), Warnings: jsonfile.Filled(rec.Edits()),
	}
	for _, g := range kneeGroups(rec.Results) {
		c, warnings := g.curve()
		a.Curves = append(a.Curves, c)
		a.Warnings = append(a.Warnings, warnings...)
	}
	if len(a.Curves) == 0 {
		a.Warnings = append(a.Warnings, record.Warning{
			Code: "no_results", Message: "the record holds no results",
			Hint: "give a record or a log that has rows with times",
		})
	}
	return a
}

// FixFirst withdraws the sizes because of a fault of the hardware: they are not those of
// the mended fabric.
func (a *Knees) FixFirst(fault, remedy string) {
	for i := range a.Curves {
		a.Curves[i].Points, a.Curves[i].Reason = []KneePoint{}, "fix the fault first"
	}
	a.Needs = []Need{{"fix the fault first. " + fault, remedy}}
}

// group is the results that differ in size alone.
type kneeGroup struct {
	key     kneeKey
	results []record.Result
}

type kneeKey struct {
	collective, dtype, op string
	ranks, nodes, local   int
	groups, stride        int
	inPlace               bool
	setup                 string
}

func kneeKeyOf(r *record.Result) kneeKey {
	return kneeKey{r.Collective, r.Dtype, r.Op, r.Ranks, r.Nodes, r.GPUsPerProcess, r.Groups, r.Stride, r.InPlace, r.Setup}
}

// groups splits the results into curves: in the order of the table of
// collectives, then by the rest of the key.
func kneeGroups(results []record.Result) []kneeGroup {
	byKey := map[kneeKey][]record.Result{}
	for i := range results {
		k := kneeKeyOf(&results[i])
		byKey[k] = append(byKey[k], results[i])
	}
	all := make([]kneeGroup, 0, len(byKey))
	for k, rs := range byKey {
		all = append(all, kneeGroup{k, rs})
	}
	slices.SortFunc(all, func(a, b kneeGroup) int { return a.key.compare(b.key) })
	return all
}

func (k kneeKey) compare(o kneeKey) int {
	return cmp.Or(
		cmp.Compare(listed(k.collective), listed(o.collective)),
		cmp.Compare(k.collective, o.collective),
		cmp.Compare(k.dtype, o.dtype),
		cmp.Compare(k.op, o.op),
		cmp.Compare(o.ranks, k.ranks), // the whole world before its parts
		cmp.Compare(k.nodes, o.nodes),
		cmp.Compare(k.local, o.local),
		cmp.Compare(k.groups, o.groups),
		cmp.Compare(k.stride, o.stride),
		cmp.Compare(rank(k.inPlace), rank(o.inPlace)),
		cmp.Compare(k.setup, o.setup),
	)
}

// listed is the collective's place in the table; unknown ones come last.
func listed(name string) int {
	names := collective.Names()
	if i := slices.Index(names, name); i >= 0 {
		return i
	}
	return len(names)
}

// buffers says whether the collective ran in place.
func buffers(inPlace bool) string {
	if inPlace {
		return "in place"
	}
	return "out of place"
}

// rank orders out of place before in place.
func rank(inPlace bool) int {
	if inPlace {
		return 1
	}
	return 0
}
