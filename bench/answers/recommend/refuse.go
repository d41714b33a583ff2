package recommend

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/job/trainer"
)

// A curve with fewer sizes, or over fewer decades, gives neither an answer nor a knee.
const (
	minSizes   = 5
	minDecades = 2.0
)

// refuse returns a refusal. The message says what is missing or wrong, and the hint says how to give it.
func refuse(code, message, hint string) *Refusal {
	return &Refusal{Code: code, Message: message, Hint: hint}
}

// Do returns the hint without the command at its end.
func (r *Refusal) Do() string { return strings.TrimSuffix(r.Hint, ": `"+r.Command+"`") }

// `incomplete` returns a refusal for what the question lacks; nil if the question is complete.
func incomplete(q Question, t trainer.Trainer) *Refusal {
	total := int64(0)
	blocks := false
	for _, p := range q.Params {
		if p.Elements < 0 || p.Elements > math.MaxInt64/16-total {
			return refuse("bad_model", fmt.Sprintf("tensor %q has %d elements", p.Name, p.Elements), "give each tensor's number of elements")
		}
		total += p.Elements
		blocks = blocks || p.Block > 0
	}
	switch {
	case total == 0:
		return refuse(
			"no_model", "the size of the gradients is not known, and the best bucket depends on it",
			"give --params FILE, --preset NAME or --total-params N",
		)
	case t.Unit == trainer.Blocks && !blocks:
		return refuse(
			"no_blocks", "no tensor is said to belong to a transformer block, and "+t.Title+" is set in blocks",
			"give --params with names such as model.layers.0.mlp.weight, or a preset",
		)
	case !(q.Backward >= 0 && q.Forward >= 0) || math.IsInf(q.Backward+q.Forward, 0):
		return refuse(
			"bad_times", fmt.Sprintf("backward is %g s and forward %g s; both must be positive times", q.Backward, q.Forward),
			"give --backward-ms and --forward-ms of one microbatch",
		)
	case len(q.Curves) == 0:
		return refuse(
			"no_curve", "no usable measurement of a collective was given",
			"give a record or a log that has rows with times",
		)
	}
	return nil
}

// `missing` returns the refusal for a missing curve. It lists the available curves.
func missing(n need, q Question) *Refusal {
	var others, ranks []string
	for _, c := range q.Curves {
		s := fmt.Sprintf("%s of %d ranks", c.Collective, c.Ranks)
		if !strings.Contains(strings.Join(others, ", "), s) {
			others = append(others, s)
		}
		if c.Collective == n.collective {
			ranks = append(ranks, fmt.Sprint(c.Ranks))
		}
	}
	if len(ranks) > 0 {
		how := fmt.Sprintf("sweep %s on %d ranks", n.collective, n.ranks)
		world := q.Run.DP * q.Run.Apart(false)
		switch apart := world / n.ranks; {
		case n.neighbours(q.Run):
			how = fmt.Sprintf("sweep all %d ranks with --groups %d: an optimizer instance or replica is a group of neighbours", q.Run.DP, n.ranks)
		case apart > 1 && n.ranks == q.Run.DP:
			how = fmt.Sprintf("sweep all %d ranks with --strides %d: tensor-parallel ranks are neighbours, so this is the stride of the data-parallel ones", world, apart)
		case apart > 1 && q.Run.EP > 1:
			how = fmt.Sprintf("sweep all %d ranks with --strides %d: this is the stride of the ranks with the same experts", world, apart)
		case apart > 1:
			how = fmt.Sprintf("sweep all %d ranks with --strides %d: this is the stride of the ranks of all optimizer instances or replicas with the same share", world, apart)
		}
		return refuse(
			"wrong_ranks",
			fmt.Sprintf("the gradients are reduced by %s, and the curve is of %s: a ring of another length has another latency", n, ranks[0]),
			how+", or allow --allow-rescale, which assumes a ring and caps the confidence at low",
		)
	}
	return refuse(
		missingCurve,
		fmt.Sprintf("the trainer calls %s, and the curves are of %s", n, strings.Join(others, ", ")),
		q.Again.Sweep([]string{n.collective}),
	)
}

// missingCurve is the code of a refusal for a missing collective.
const missingCurve = "missing_curve"

// fewSizes is the code of a refusal for a curve with too few sizes.
const fewSizes = "few_sizes"

// Enough reports whether a number of sizes, from `least` to `most` bytes, is enough for an answer.
func Enough(sizes int, least, most int64) bool {
	return sizes >= minSizes && decades(least, most) >= minDecades
}

func decades(least, most int64) float64 { return math.Log10(float64(most) / float64(least)) }

// tooFew refuses a curve with too few sizes or too small a range.
func tooFew(c Curve) *Refusal {
	n := len(c.Points)
	least, most := c.Points[0].Bytes, c.Points[n-1].Bytes
	if Enough(n, least, most) {
		return nil
	}
	return refuse(
		fewSizes,
		fmt.Sprintf("the curve of %s has %d sizes over %.1f decades; an answer needs %d sizes over %g decades", c.Collective, n, decades(least, most), minSizes, minDecades),
		"", // findCurves fills in the command: it knows the other calls
	)
}

// overBudget returns the refusal if every setting exceeds the memory budget.
func (e *engine) overBudget() *Refusal {
	least := slices.Min(slice.Map(e.candidates, func(c *candidate) int64 { return c.Memory }))
	return refuse("memory", fmt.Sprintf("the smallest setting takes %s of buffers, and the budget is %s",
		unit.Bytes(least), unit.Bytes(e.q.MemBudget)), "raise --mem-budget")
}
