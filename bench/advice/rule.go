package advice

import (
	"strings"

	"zbench/bench/document"
	"zbench/bench/plain"
	"zbench/bench/recommend"
	"zbench/bench/table"
	"zbench/bench/unit"
)

// rule is the advice where the time of backward is not known; why is the reason why no percentage can be given, or empty.
func (d *Document) rule(why string) string {
	r := d.Answer.Rule
	kept := d.value(r.Kept, d.named(r.Kept))
	if !d.isSet() {
		kept = "the default, " + kept
	}
	keep, costs := "keep "+kept, ", which costs at most "+AtMost(r.KeptCosts)
	if why != "" {
		costs = ""
	}
	at := d.atRate()
	said := d.setTo(r.Elements)
	if r.SetCosts >= recommend.PlateauWidth && why == "" {
		said += ", which costs at most " + AtMost(r.SetCosts) + " there,"
	}
	switch said += d.also(); {
	case r.Elements == 0:
		keep = d.also() + strings.Replace(keep, "keep ", "keep "+d.Knob()+" at ", 1)
		return d.withWhy(strings.TrimPrefix(keep, " and ")+" from "+d.quantity(r.Points[0].Amount)+" on"+at+costs+".", why)
	case r.From == 0 && r.To == 0:
		return d.withWhy(strings.TrimSuffix(said, ",")+" up to "+d.quantity(r.Points[len(r.Points)-1].Amount)+at+".", why)
	default:
		return d.withWhy(d.where()+at+" "+strings.TrimSuffix(said, ",")+". "+plain.Capital(d.beyond())+" "+keep+costs+".", why)
	}
}

func (d *Document) withWhy(said, why string) string {
	if why == "" {
		return said
	}
	return said + " How much either gains is not known: " + why + "."
}

// isSet reports whether the user has set a size.
func (d *Document) isSet() bool { return d.Config != nil && d.Config.Elements > 0 }

// atRate is at how many FLOP/s the tokens count.
func (d *Document) atRate() string {
	rate, _, _ := strings.Cut(d.Rate, ",")
	if rate == "" {
		return ""
	}
	return " (at " + rate + ")"
}

// quantity is an amount of computation in words.
func (d *Document) quantity(n int64) string {
	if d.Answer.Rule.Counts == recommend.Microseconds {
		return "a backward of " + d.ruleAmount(n) + " a microbatch"
	}
	return d.ruleAmount(n) + " tokens per microbatch on a GPU"
}

// ruleAmount is the number of it, with a unit where it is a time.
func (d *Document) ruleAmount(n int64) string {
	if d.Answer.Rule.Counts == recommend.Microseconds {
		return unit.Seconds(float64(n) * 1e-6)
	}
	return unit.Comma(n)
}

// where says at which amounts another setting gains; beyond says the rest.
func (d *Document) where() string {
	switch r := d.Answer.Rule; {
	case r.From == 0:
		return "below about " + d.quantity(r.To)
	case r.To == 0:
		return "above about " + d.quantity(r.From)
	default:
		return "between about " + d.ruleAmount(r.From) + " and " + d.quantity(r.To)
	}
}

func (d *Document) beyond() string {
	switch r := d.Answer.Rule; {
	case r.From == 0:
		return "above it"
	case r.To == 0:
		return "below it"
	default:
		return "elsewhere"
	}
}

// reaches says at which other amounts of computation than the answer's a size gains; empty without a rule, and of one.
func (d *Document) reaches() string {
	r := d.Answer.Rule
	if r == nil || d.Answer.Verdict == recommend.Ruled || d.unfounded() != "" {
		return ""
	}
	least := unit.Share(recommend.PlateauWidth)
	switch {
	case r.Elements == 0:
		return "No size gains " + least + " from " + d.quantity(r.Points[0].Amount) + " on."
	case r.From == 0 && r.To == 0:
		return "A size gains " + least + " or more up to " + d.quantity(r.Points[len(r.Points)-1].Amount) + "."
	}
	return "A size gains " + least + " or more " + d.where() + "."
}

// chartReach is how many times the amount above which nothing gains a chart goes to.
const chartReach = 8

// ruleBlocks are the steps over the amount of computation, as a chart and a table; nothing without a rule.
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
		first, last := r.From, r.To
		if first == 0 {
			first = r.Points[0].Amount
		}
		if last == 0 {
			last = r.Points[len(r.Points)-1].Amount
		}
		c.Band = &document.Band{Lo: first, Hi: last, Label: "a size gains " + unit.Share(recommend.PlateauWidth) + " or more"}
	}
	caption := c.Title + ". longer: with what is set than with the best size, as measured or on average, whichever is more. with: that size."
	return []document.Block{document.Plot{Chart: c}, document.Sheet{Label: c.Title, Caption: caption, Table: t}}
}
