package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"zbench/bench/record"
	"zbench/bench/unit"
)

// memoryView is the page of a memory record.
type memoryView struct {
	look
	Title, Subtitle, Command string
	Banners                  []Banner
	Bars, Ratios             []barChart
	Plots                    []plot
	Data                     []plotData
	Head                     []string
	Rows                     [][]string
	Footer                   []string
	Published                []publishedLine
	Peak                     bool // of a device is known, and drawn
	Facts                    []Fact
}

// publishedLine is a letter of the bars with what it stands for.
type publishedLine struct{ Letter, Text string }

// WriteMemoryHTML writes the page as one file that needs nothing else. command
// reproduces the record.
func WriteMemoryHTML(w io.Writer, rec *record.Record, command string) error {
	v, err := memoryViewOf(rec, command)
	if err != nil {
		return err
	}
	return execute(w, v, "memory.tmpl", "tables.tmpl")
}

func memoryViewOf(rec *record.Record, command string) (*memoryView, error) {
	l, err := lookOf()
	if err != nil {
		return nil, err
	}
	t := memoryTextual(rec)
	v := &memoryView{
		look: l, Title: memoryTitle(rec), Command: command,
		Head: t.head, Rows: t.rows, Footer: t.footer, Facts: memoryFacts(rec), Banners: memoryBanners(rec), Data: []plotData{},
	}
	v.Peak = slices.ContainsFunc(rec.World.Devices, func(d record.Device) bool { return d.PeakBandwidth != nil })
	published := publishedOf(rec)
	for i, p := range published {
		v.Published = append(v.Published, publishedLine{letter(i), fmt.Sprintf("%s on %s: %s, %s", p.Tool, p.Device, p.Source, p.Date)})
	}
	v.Bars, v.Ratios = barCharts(rec, published), ratioCharts(rec)
	if c := levels(rec); !c.Empty() {
		v.Plots, v.Data = append(v.Plots, plotOf(c)), append(v.Data, dataOf(c))
	}
	return v, nil
}

// memoryBanners are what must be known before any number is read.
func memoryBanners(rec *record.Record) []Banner {
	var out []Banner
	simulated := 0
	for i, d := range rec.World.Devices {
		switch d.Kind {
		case record.HostMemory:
			out = append(out, Banner{"imported", "HOST MEMORY", "These are real figures of this host's memory and CPUs, not of a GPU."})
		case record.OnLoopback:
			simulated++
		case record.Checked:
			if i > 0 {
				continue
			}
			out = append(out, Banner{"simulated", "NOT TIMED", "The loopback ran the kernels thread by thread: their results are checked, their times say nothing."})
		}
	}
	if simulated > 0 {
		out = append(out, Banner{"simulated", "SIMULATED", "The loopback stood for " + plural(int64(simulated), "GPU") + ": a launch takes what its clock says, whatever it moves."})
	}
	if rec.Spec != nil && len(rec.Spec.Faults) > 0 {
		out = append(out, Banner{"planted", "FAULTS PLANTED", strings.Join(rec.Spec.Faults, "; ")})
	}
	wrong := 0
	for i := range rec.Kernels {
		if rec.Kernels[i].Status == record.WrongData {
			wrong++
		}
	}
	if wrong > 0 {
		out = append(out, Banner{"wrong", "WRONG DATA", plural(int64(wrong), "case") + " left wrong elements; the notes name the first of each."})
	}
	return out
}

// levels is the bandwidth over the size of an array: where it falls, a level of
// cache ends.
func levels(rec *record.Record) Chart {
	c := Chart{ID: "levels", Title: "Levels of cache", Subtitle: memoryTitle(rec), Quantity: Rate}
	bound := 0
	for i := range rec.Kernels {
		r := &rec.Kernels[i]
		if r.Role != record.SizeSweep || r.Metrics.Rate == nil {
			continue
		}
		if r.LaunchBound() {
			bound++
			continue
		}
		name := r.Kernel + " " + r.Dtype
		if len(rec.World.Devices) > 1 {
			name += fmt.Sprintf(", GPU %d", r.Device)
		}
		at := slices.IndexFunc(c.Series, func(s Series) bool { return s.Name == name })
		if at < 0 {
			at = len(c.Series)
			c.Series = append(c.Series, Series{Name: name})
		}
		p := Point{Bytes: r.Shape.Array, Value: *r.Metrics.Rate}
		if r.Metrics.Lo != nil && r.Metrics.Hi != nil {
			p.Lo, p.Hi, p.Bounded = *r.Metrics.Lo, *r.Metrics.Hi, true
		}
		c.Series[at].Points = append(c.Series[at].Points, p)
	}
	for _, d := range rec.World.Devices[:min(1, len(rec.World.Devices))] {
		if d.PeakBandwidth != nil {
			c.Roofs = []Roof{{Letter: letter(0), Label: "peak of the memory", Value: *d.PeakBandwidth, Source: d.PeakSource}}
		}
		if d.Cache > 0 {
			c.Notes = append(c.Notes, fmt.Sprintf("The last level of cache is %s: arrays below four times that are cache-resident.", unit.Bytes(d.Cache)))
		}
	}
	if bound > 0 {
		c.Notes = append(c.Notes, plural(int64(bound), "point")+" not shown: a launch alone takes half the time or more there, so the rate is of launches and of no cache. The table marks them launch-bound.")
	}
	return c
}

func memoryFacts(rec *record.Record) []Fact {
	out := []Fact{{"zbench", rec.Tool.Version}, {"made", rec.Created.Format("2006-01-02 15:04:05 UTC")}, {"libraries", rec.Source.Backend}}
	for _, d := range rec.World.Devices {
		out = append(out, Fact{fmt.Sprintf("device %d", d.Index), fmt.Sprintf("%s (%s), %d units, memory %s, last level of cache %s", d.Name, d.Kind, d.Units, unit.Bytes(d.Bytes), unit.Bytes(d.Cache))})
	}
	for _, l := range rec.Source.Libraries {
		out = append(out, Fact{l.Name, strings.TrimSpace(l.Version + " " + l.Path)})
	}
	if !rec.OfKernels() {
		return out
	}
	out = append(out, Fact{"data", cmp.Or(rec.Spec.Kernels.Data, "random")})
	if !slices.ContainsFunc(rec.Kernels, func(r record.Kernel) bool { return r.Timing != nil }) {
		return out
	}
	return append(out, Fact{"timing", fmt.Sprintf("batches of at least 2 ms between two events, until half the interval of the median is within %s of it, or for %s", percent(rec.Spec.Kernels.Precision), unit.Seconds(rec.Spec.Kernels.MaxTime))})
}
