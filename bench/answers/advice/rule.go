package advice

import (
	"cmp"
	"strings"

	"zbench/bench/answers/recommend"
	"zbench/bench/base/unit"
	"zbench/bench/show/document"
	"zbench/bench/show/table"
)

// rule returns the advice if the backward time is unknown. `why` is the reason why no percentage can be given,
// or empty.
func (d *Document) rule(why string) string {
	r := d.Answer.Rule
	costs := func(share float64) string { return ", which costs at most " + AtMost(share) }
	kept, set, reason := d.named(r.Kept), d.setTo(r.Elements)+d.also(), ""
	switch {
	case why != "":
		costs, reason = func(float64) string { return "" }, " How much either gains is not known: "+why+"."
	case r.SetCosts >= recommend.PlateauWidth:
		set += costs(r.SetCosts) + " there"
	}
	if !d.isSet() {
		kept = "the default, " + kept
	}
	switch inside, outside := d.where(); {
	case r.Elements == 0:
		return strings.TrimPrefix(d.also()+" and keep ", " and ") + d.Knob() + " at " + kept + " " + inside + d.atRate() + costs(r.KeptCosts) + "." + reason
	case outside == "":
		return set + " " + inside + d.atRate() + "." + reason
	default:
		return inside + d.atRate() + " " + set + ". " + outside + " keep " + kept + costs(r.KeptCosts) + "." + reason
	}
}

// isSet reports whether the user has set a size.
func (d *Document) isSet() bool { return d.Config != nil && d.Config.Elements > 0 }

// atRate returns, in parentheses, the FLOP/s that convert tokens to time; empty if there is no rate.
func (d *Document) atRate() string {
	if rate, _, _ := strings.Cut(d.Rate, ","); rate != "" {
		return " (at " + rate + ")"
	}
	return ""
}

// quantity returns an amount of computation in words.
func (d *Document) quantity(n int64) string {
	if d.Answer.Rule.Counts == recommend.Microseconds {
		return "a backward of " + d.ruleAmount(n) + " a microbatch"
	}
	return d.ruleAmount(n) + " tokens per microbatch on a GPU"
}

// ruleAmount returns the amount's number, with a unit if it is a time.
func (d *Document) ruleAmount(n int64) string {
	if d.Answer.Rule.Counts == recommend.Microseconds {
		return unit.Seconds(float64(n) * 1e-6)
	}
	return unit.Comma(n)
}

// `where` returns two descriptions: `inside` for the amounts at which another setting gains, and `outside` for
// all other amounts. If no setting gains, `inside` covers all amounts. If the advice is the same for all
// amounts, `outside` is empty.
func (d *Document) where() (inside, outside string) {
	switch r := d.Answer.Rule; {
	case r.Elements == 0:
		return "from " + d.quantity(r.Points[0].Amount) + " on", ""
	case r.From == 0 && r.To == 0:
		return "up to " + d.quantity(r.Points[len(r.Points)-1].Amount), ""
	case r.From == 0:
		return "below about " + d.quantity(r.To), "Above it"
	case r.To == 0:
		return "above about " + d.quantity(r.From), "Below it"
	default:
		return "between about " + d.ruleAmount(r.From) + " and " + d.quantity(r.To), "Elsewhere"
	}
}

// `reaches` returns a sentence about the other amounts of computation at which a size gains; empty without a
// rule, or if the answer itself is a rule.
func (d *Document) reaches() string {
	r := d.Answer.Rule
	if r == nil || d.Answer.Verdict == recommend.Ruled || d.unfounded() != "" {
		return ""
	}
	inside, _ := d.where()
	inside = strings.TrimSuffix(inside, " on a GPU")
	if r.Elements == 0 {
		return "No size gains " + unit.Share(recommend.PlateauWidth) + " " + inside + "."
	}
	return "A size gains " + unit.Share(recommend.PlateauWidth) + " or more " + inside + "."
}

// chartReach is the ratio of a chart's largest amount to the amount above which no setting gains.
const chartReach = 8

// ruleBlocks returns a chart and a table of the steps over the amount of computation; nothing without a rule.
func (d *Document) ruleBlocks() []document.Block {
	r := d.Answer.Rule
	if r == nil || len(r.Points) == 0 || r.Unfounded != "" {
		return nil
	}
	name := "default, " + d.Amount(r.Kept)
	if d.isSet() {
		name = "yours, " + d.Amount(r.Kept)
	}
	c := document.Chart{
		ID: "rule", Title: "Step time by tokens of a microbatch", Subtitle: adviceSubtitle(d), Quantity: document.ByTokens, Mark: document.MarkOf(d.Answer.Simulated),
		Series: []document.Series{{Name: name}, {Name: "best size of each"}},
		Notes:  []string{"The lines are steps with what is set and with the best size of each amount" + d.atRate() + ". The distance is as measured, or on average over slower networks and other computation where that is more."},
	}
	if r.Counts == recommend.Microseconds {
		c.Title, c.Quantity = "Step time by backward of a microbatch", document.ByBackward
	}
	t := table.Table{Indent: 2, Groups: []table.Group{{}}, Columns: []table.Column{
		{Name: c.Quantity.Row().Column, Right: true}, {Name: name, Right: true}, {Name: "best", Right: true}, {Name: "with", Right: true}, {Name: "longer", Right: true}, {Name: "so"},
	}}
	for i, p := range r.Points {
		if r.To == 0 || p.Amount < chartReach*r.To {
			c.Series[0].Points = append(c.Series[0].Points, document.Point{Bytes: p.Amount, Value: p.Kept})
			c.Series[1].Points = append(c.Series[1].Points, document.Point{Bytes: p.Amount, Value: p.Best})
		}
		if i%4 == 0 {
			so := "set"
			if p.Keep {
				so = "keep"
			}
			t.Add(d.ruleAmount(p.Amount), unit.Seconds(p.Kept), unit.Seconds(p.Best), d.Amount(p.Elements), "+"+unit.Share(p.Costs), so)
		}
	}
	if r.Elements > 0 {
		c.Band = &document.Band{Lo: cmp.Or(r.From, r.Points[0].Amount), Hi: cmp.Or(r.To, r.Points[len(r.Points)-1].Amount), Label: "a size gains " + unit.Share(recommend.PlateauWidth) + " or more"}
	}
	caption := c.Title + ". longer: with what is set than with the best size, as measured or on average, whichever is more. with: that size."
	return []document.Block{document.Plot{Chart: c}, document.Sheet{Label: c.Title, Caption: caption, Table: t}}
}
