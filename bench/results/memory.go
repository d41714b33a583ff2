package results

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/answers/judge"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/hardware/device"
	"zbench/bench/run/record"
	"zbench/bench/show/document"
	"zbench/bench/work/kernel"
)

// Kernels returns the document of a record of hbm or kernels. command reproduces the record; if it is empty,
// the document does not show it.
func Kernels(rec *record.Record, command string) *document.Document {
	family := kernel.Of(rec.Benchmark())
	d := &document.Document{
		Command: rec.Benchmark(), Value: rec, CSV: rec.CSV, Beneath: true, Banners: edited(rec),
		Simulated: rec.OnLoopback(), State: judge.State(rec), Findings: judge.Of(rec), Chips: kernelChips(rec, family),
	}
	if family.Show == nil {
		family.Show = memoryInto
	}
	family.Show(d, rec)
	d.Reproduce(command)
	return d
}

// memoryInto adds the results of streams or of a norm.
func memoryInto(d *document.Document, rec *record.Record) {
	d.Title, d.Banners, d.Foot = memoryTitle(rec), append(d.Banners, memoryBanners(rec)...), "Sizes are IEC, 1 KiB = 1,024 B; rates are decimal, 1 GB/s = 1e9 B/s."
	published := judge.Published(rec)
	ratios := ratioCharts(rec)
	d.Add("ratios", "Fused against kernel by kernel", barBlocks(ratios, "Bars are the time kernel by kernel over the fused time; the line is 1, no gain. Beside each: the fused kernel's rate as part of a copy's on the same device in the same run, and what the check against a float64 reference found. The results below have every figure.")...)
	bars := barBlocks(barCharts(rec, published), barNote(rec, len(ratios) > 0, len(published) > 0))
	if len(bars) > 0 && len(published) > 0 {
		bars = append(bars, publishedList(published))
	}
	d.Add("bars", "Bandwidth by kernel", bars...)
	if c := levels(rec); !c.Empty() {
		d.Add("levels", "By size of the arrays", document.Plot{Chart: c})
	}
	d.Wide(MemoryResults(rec), memoryNotes(rec), shortMemory(rec)...)
	d.Add("setup", "Set-up", memoryFacts(rec))
}

// barBlocks returns charts of bars with a note beneath.
func barBlocks(all []document.Bars, note string) []document.Block {
	out := slice.Map(all, func(b document.Bars) document.Block { return b })
	if len(out) > 0 {
		out = append(out, document.Paragraph{Role: "small", Text: document.Said(note)})
	}
	return out
}

// barNote explains the colours of the bars and the lines across them.
func barNote(rec *record.Record, ratios, published bool) string {
	note := "Grey bars are the fixed configuration that compares with BabelStream's, blue ones zbench's own."
	if ratios {
		note = "Blue bars are the fused kernel, grey ones the same work kernel by kernel and a copy of as many bytes; each by its own bytes, so that times compare above."
	}
	if slices.ContainsFunc(rec.World.Devices, func(d record.Device) bool { return d.PeakBandwidth != nil }) {
		note += " Lines across the bars: without a letter the peak"
		if published {
			note += ", with one what others published"
		}
		note += "."
	}
	return note + " The results below have every figure."
}

// publishedList explains the letters of the bars.
func publishedList(published []device.Published) document.Block {
	l := document.List{Role: "roofs"}
	for i, p := range published {
		l.Items = append(l.Items, document.Text{{Style: "b", Text: document.Letter(i)}, {Text: fmt.Sprintf(" %s on %s: %s, %s", p.Tool, p.Device, p.Source, p.Date)}})
	}
	return l
}

// memoryBanners returns what must be read before any number.
func memoryBanners(rec *record.Record) []document.Banner {
	var out []document.Banner
	simulated := 0
	for i, d := range rec.World.Devices {
		switch d.Kind {
		case record.HostMemory:
			out = append(out, document.Banner{Kind: "imported", Label: "HOST MEMORY", Text: "These are real figures of this host's memory and CPUs, not of a GPU."})
		case record.OnLoopback:
			simulated++
		case record.Checked:
			if i > 0 {
				continue
			}
			out = append(out, document.Banner{Kind: "simulated", Label: "NOT TIMED", Text: "The loopback runs the kernels thread by thread: their results are checked, their times are not shown."})
		}
	}
	if simulated > 0 {
		out = append(out, document.Banner{Kind: "simulated", Label: "SIMULATED", Text: "The loopback simulates " + unit.Count(int64(simulated), "GPU") + ": the times are of its virtual clock, not of the data moved."})
	}
	if rec.Spec != nil && len(rec.Spec.Faults) > 0 {
		out = append(out, document.Banner{Kind: "planted", Label: "FAULTS PLANTED", Text: strings.Join(rec.Spec.Faults, "; ")})
	}
	if wrong := slice.Count(rec.Kernels, func(k record.Kernel) bool { return k.Status == record.WrongData }); wrong > 0 {
		out = append(out, document.Banner{Kind: "wrong", Label: "WRONG DATA", Text: unit.Count(int64(wrong), "case") + " left wrong elements; the notes name the first of each."})
	}
	return out
}

// levels returns the chart of bandwidth by size of the arrays. Where the bandwidth falls, a cache level ends.
func levels(rec *record.Record) document.Chart {
	c := document.Chart{ID: "levels", Title: "Levels of cache", Subtitle: memoryTitle(rec), Quantity: document.Rate}
	bound := 0
	for _, r := range rec.KernelRows() {
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
		at := slices.IndexFunc(c.Series, func(s document.Series) bool { return s.Name == name })
		if at < 0 {
			at = len(c.Series)
			c.Series = append(c.Series, document.Series{Name: name})
		}
		p := document.Point{Bytes: r.Shape.Array, Value: *r.Metrics.Rate}
		if r.Metrics.Lo != nil && r.Metrics.Hi != nil {
			p.Lo, p.Hi, p.Bounded = *r.Metrics.Lo, *r.Metrics.Hi, true
		}
		c.Series[at].Points = append(c.Series[at].Points, p)
	}
	for _, d := range rec.World.Devices[:min(1, len(rec.World.Devices))] {
		if d.PeakBandwidth != nil {
			c.Roofs = []document.Roof{{Letter: document.Letter(0), Label: "peak of the memory", Value: *d.PeakBandwidth, Source: d.PeakSource}}
		}
		if d.Cache > 0 {
			c.Notes = append(c.Notes, fmt.Sprintf("The last level of cache is %s: arrays below four times that are cache-resident.", unit.Bytes(d.Cache)))
		}
	}
	if bound > 0 {
		c.Notes = append(c.Notes, unit.Count(int64(bound), "point")+" not shown: a launch alone takes half the time or more there, so the rate is of launches and of no cache. The table marks them launch-bound.")
	}
	return c
}

func memoryFacts(rec *record.Record) document.Facts {
	out := document.Facts{{Term: "zbench", Text: rec.Tool.Version}, {Term: "made", Text: rec.Created.Format("2006-01-02 15:04:05 UTC")}, {Term: "libraries", Text: rec.Source.Backend}}
	for _, d := range rec.World.Devices {
		out.Add(fmt.Sprintf("device %d", d.Index), fmt.Sprintf("%s (%s), %d units, memory %s, last level of cache %s", d.Name, d.Kind, d.Units, unit.Bytes(d.Bytes), unit.Bytes(d.Cache)))
	}
	for _, l := range rec.Source.Libraries {
		out.Add(l.Name, strings.TrimSpace(l.Version+" "+l.Path))
	}
	if !rec.OfKernels() {
		return out
	}
	asked := rec.Spec.Kernels
	out.Add("data", cmp.Or(asked.Data, "random"))
	if !slices.ContainsFunc(rec.Kernels, func(r record.Kernel) bool { return r.Timing != nil }) {
		return out
	}
	return append(out, document.Fact{Term: "timing", Text: fmt.Sprintf("batches of at least 2 ms between two events, until half the interval of the median is within %s of it, or for %s", unit.Percent(asked.Precision), unit.Seconds(asked.MaxTime))})
}
