package report

import (
	"cmp"
	"fmt"
	"io"

	"zbench/bench/muon"
	"zbench/bench/record"
	"zbench/bench/spec"
)

// muonView is the page of a record of Muon.
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
// reproduces the record; empty, the page leaves that out.
func WriteMuonHTML(w io.Writer, rec *record.Record, command string) error {
	v, err := muonViewOf(rec, command)
	if err != nil {
		return err
	}
	return execute(w, v, "muon.tmpl")
}

func muonViewOf(rec *record.Record, command string) (*muonView, error) {
	l, err := lookOf()
	if err != nil {
		return nil, err
	}
	return &muonView{
		look: l, Title: MuonTitle(rec), Command: command,
		Banners: muonBanners(rec), Parts: muonParts(rec), FigureHead: MuonFigureHead, CheckHead: MuonCheckHead, Footer: MuonFooter(rec), Facts: muonFacts(rec),
	}, nil
}

// muonParts puts each shape's checks beside its figures.
func muonParts(rec *record.Record) []muonPart {
	var parts []muonPart
	for i, rows := range muonShapes(rec) {
		p := muonPart{ID: fmt.Sprintf("shape-%d", i+1), Name: oneLine(muon.ShapeOf(rows[0]).Title())}
		if !rec.Emulated() {
			p.Figures = MuonFigures(rows)
		}
		p.Checks = MuonChecks(rows)
		parts = append(parts, p)
	}
	return parts
}

// muonShapes are the rows by shape, in the order of the record.
func muonShapes(rec *record.Record) [][]*record.Kernel {
	var shapes [][]*record.Kernel
	at := map[muon.Shape]int{}
	for i := range rec.Kernels {
		k := &rec.Kernels[i]
		s := muon.ShapeOf(k)
		if _, known := at[s]; !known {
			at[s] = len(shapes)
			shapes = append(shapes, nil)
		}
		shapes[at[s]] = append(shapes[at[s]], k)
	}
	return shapes
}

// muonBanners are what must be known before any number is read.
func muonBanners(rec *record.Record) []Banner {
	var out []Banner
	if rec.Emulated() {
		out = append(out, Banner{"simulated", "RESULTS CHECKED, NOT TIMED", "The loopback ran the kernels thread by thread: their times say nothing, so there are none."})
	}
	open, wrong := 0, map[record.Check]bool{}
	for _, k := range rec.Kernels {
		if k.Status == record.Interrupted || k.Status == record.Skipped || k.Status == record.Failed {
			open++
		}
		for _, c := range k.Verified.Checks {
			if !c.OK() {
				wrong[c] = true
			}
		}
	}
	if open > 0 {
		out = append(out, Banner{"wrong", "INTERRUPTED", fmt.Sprintf("%d of %d rows are not finished; the notes below the tables say why.", open, len(rec.Kernels))})
	}
	if len(wrong) > 0 {
		out = append(out, Banner{"wrong", "WRONG DATA", plural(int64(len(wrong)), "check") + " found more error than the bar allows: the speeds beside it mean nothing."})
	}
	return out
}

func muonFacts(rec *record.Record) []Fact {
	k, seed := spec.Kernels{}, uint64(0)
	if rec.OfKernels() {
		k, seed = *rec.Spec.Kernels, rec.Spec.Seed
	}
	return []Fact{
		{"zbench", rec.Tool.Version},
		{"made", rec.Created.Format("2006-01-02 15:04:05 UTC")},
		{"device", muonDevice(rec)},
		{"libraries", rec.Source.Backend},
		{"coefficients", k.Coefficients},
		{"preset", cmp.Or(k.Preset, "none: shapes were given")},
		{"seed", fmt.Sprint(seed)},
	}
}
