package report

import (
	"fmt"
	"strings"

	"zbench/bench/muon"
	"zbench/bench/plain"
)

// Muon is the report of a Muon step. command reproduces it; empty leaves that out.
func Muon(r *muon.Report, command string) *Document {
	d := &Document{
		Title: muonTitle(r), Banners: muonBanners(r),
		Foot: "Rates are decimal: 1 TFLOP/s = 1e12 operations per second, 1 GB/s = 1e9 B/s. A ratio above 1 is in favour of our kernel.",
	}
	d.Sections = muonShapes(r)
	if last := len(d.Sections) - 1; last >= 0 {
		d.Sections[last].Blocks = append(d.Sections[last].Blocks, listed("small", muonFooter(r))...)
	}
	d.add("setup", "Set-up", Facts(muonFacts(r)))
	d.command(command)
	return d
}

// muonShapes are the shapes, each with its speeds and what shows that they are of
// right results.
func muonShapes(r *muon.Report) []Section {
	var names []string
	figures, checks := map[string][]muon.ShapeFacts{}, map[string][]muon.Check{}
	for _, s := range r.Shapes {
		names = append(names, s.Shape.Title())
		figures[s.Shape.Title()] = append(figures[s.Shape.Title()], s)
	}
	for _, c := range r.Checks {
		names = append(names, c.Of)
		checks[c.Of] = append(checks[c.Of], c)
	}
	var out []Section
	for _, name := range names {
		if figures[name] == nil && checks[name] == nil {
			continue // it is there already
		}
		id := fmt.Sprintf("shape-%d", len(out)+1)
		one := Section{Name: id, ID: id, Title: plain.Line(name)}
		if t := muonFigures(figures[name]...); len(t.Groups) > 0 {
			one.Blocks = append(one.Blocks, Sheet{Table: t, Label: "Speed, " + one.Title, Caption: "Speed", Role: results})
		}
		if t := muonChecks(checks[name]); len(t.Groups) > 0 {
			one.Blocks = append(one.Blocks, Sheet{Table: t, Label: "Numerics, " + one.Title, Caption: "Numerics", Role: results})
		}
		out = append(out, one)
		delete(figures, name)
		delete(checks, name)
	}
	return out
}

// muonBanners are what must be known before any number is read.
func muonBanners(r *muon.Report) []Banner {
	var out []Banner
	if r.Emulated {
		out = append(out, Banner{"simulated", "RESULTS CHECKED, NOT TIMED", "The loopback ran the kernels thread by thread: their times say nothing, so there are none."})
	}
	if r.Done < len(r.Asked) {
		out = append(out, Banner{"wrong", "INTERRUPTED", fmt.Sprintf("%d of %d shapes are done; the others are not here: %s.", r.Done, len(r.Asked), plain.Line(strings.Join(r.Asked[r.Done:], ", ")))})
	}
	wrong := 0
	for _, c := range r.Checks {
		if !c.OK() {
			wrong++
		}
	}
	if wrong > 0 {
		out = append(out, Banner{"wrong", "WRONG DATA", plural(int64(wrong), "check") + " found more error than the bar allows: the speeds beside it mean nothing."})
	}
	return out
}

func muonFacts(r *muon.Report) []Fact {
	preset := r.Preset
	if preset == "" {
		preset = "none: shapes were given"
	}
	return []Fact{
		{"zbench", r.Tool.Version},
		{"made", r.Created.Format("2006-01-02 15:04:05 UTC")},
		{"device", r.Device},
		{"libraries", r.Backend},
		{"coefficients", r.Coefficients},
		{"preset", preset},
		{"seed", fmt.Sprint(r.Seed)},
	}
}
