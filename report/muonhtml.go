package report

import (
	"fmt"
	"io"
	"strings"

	"zbench/bench/muon"
)

// muonView is the page of a Muon report.
type muonView struct {
	look
	Title, Command        string
	Banners               []Banner
	Parts                 []muonPart
	FigureHead, CheckHead []string
	Footer                []string
	Facts                 []Fact
}

// muonPart is a shape with its speeds, and what shows that they are of right
// results.
type muonPart struct {
	ID, Name        string
	Figures, Checks [][]string
}

// WriteMuonHTML writes the page as one file that needs nothing else. command
// reproduces the report; empty, the page leaves that out.
func WriteMuonHTML(w io.Writer, r *muon.Report, command string) error {
	v, err := muonViewOf(r, command)
	if err != nil {
		return err
	}
	return execute(w, v, "muon.tmpl")
}

func muonViewOf(r *muon.Report, command string) (*muonView, error) {
	l, err := lookOf()
	if err != nil {
		return nil, err
	}
	return &muonView{
		look: l, Title: MuonTitle(r), Command: command,
		Banners: muonBanners(r), Parts: muonParts(r), FigureHead: MuonFigureHead, CheckHead: MuonCheckHead, Footer: MuonFooter(r), Facts: muonFacts(r),
	}, nil
}

// muonParts puts each shape's checks beside its figures.
func muonParts(r *muon.Report) []muonPart {
	var parts []muonPart
	at := map[string]int{}
	part := func(name string) *muonPart {
		i, known := at[name]
		if !known {
			i = len(parts)
			at[name] = i
			parts = append(parts, muonPart{ID: fmt.Sprintf("shape-%d", i+1), Name: oneLine(name)})
		}
		return &parts[i]
	}
	for _, s := range r.Shapes {
		p := part(s.Shape.Title())
		p.Figures = append(p.Figures, MuonFigures(s)...)
	}
	for _, c := range r.Checks {
		p := part(c.Of)
		p.Checks = append(p.Checks, MuonChecks([]muon.Check{c})...)
	}
	return parts
}

// muonBanners are what must be known before any number is read.
func muonBanners(r *muon.Report) []Banner {
	var out []Banner
	if r.Emulated {
		out = append(out, Banner{"simulated", "RESULTS CHECKED, NOT TIMED", "The loopback ran the kernels thread by thread: their times say nothing, so there are none."})
	}
	if r.Done < len(r.Asked) {
		out = append(out, Banner{"wrong", "INTERRUPTED", fmt.Sprintf("%d of %d shapes are done; the others are not here: %s.", r.Done, len(r.Asked), oneLine(strings.Join(r.Asked[r.Done:], ", ")))})
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
