package gemm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"zbench/bench/base/finding"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/hardware/device"
	"zbench/bench/run/record"
	"zbench/bench/show/document"
	"zbench/bench/show/table"
	"zbench/bench/work/kernel"
)

// Codes of findings about matrix products.
const (
	CodeRate    = "gemm_rate"
	CodeGap     = "first_choice"
	CodeStrides = "power_of_two_strides"
	CodeSizes   = "sizes"
	CodeGPUs    = "reachable_gpus"
)

// product is a shape with an element type on one device, and its rows in the record.
type product struct {
	shape  Shape
	dtype  string
	device record.Device
	// first is the first choice of the heuristics, and best is the fastest choice. torch is the
	// call that PyTorch makes, and plain is the plain product. Each is nil if it was not timed.
	first, best, torch, plain *record.Kernel
	// Field `any` is one of these rows.
	any *record.Kernel
}

func shapeOf(k *record.Kernel) Shape {
	s := Shape{Layout: k.Shape.Layout, M: k.Shape.Rows, N: k.Shape.Cols, K: k.Shape.Depth, Batch: max(1, k.Shape.Batch), Count: max(1, k.Shape.Count)}
	s.Name = k.Shape.Name
	for _, pass := range []string{Forward, Dgrad, Wgrad} {
		if rest, ok := strings.CutPrefix(s.Name, pass+" "); ok {
			s.Pass, s.Name = pass, rest
		}
	}
	return s
}

// products groups the rows by product, in the order of the record.
func products(rec *record.Record) []*product {
	type key struct {
		shape  record.Shape
		dtype  string
		device int
	}
	order, of := slice.Group(rec.KernelRows(), func(k *record.Kernel) key { return key{k.Shape, k.Dtype, k.Device} })
	return slice.Map(order, func(id key) *product { return productOf(rec, of[id]) })
}

// productOf returns the product of a group of rows.
func productOf(rec *record.Record, rows []*record.Kernel) *product {
	one := rows[0]
	p := &product{shape: shapeOf(one), dtype: one.Dtype, device: rec.DeviceOf(one), any: one}
	for _, k := range rows {
		switch {
		case k.Metrics.Effective == nil || k.LeftWrong():
		case k.Role == record.Torch:
			p.torch = k
		case k.Role == record.Vendor:
			p.plain = k
		default:
			if k.Config.Choice == 1 {
				p.first = k
			}
			if p.best == nil || *k.Metrics.Effective > *p.best.Metrics.Effective {
				p.best = k
			}
		}
	}
	return p
}

// gap returns the share that the first choice loses against the best one.
func (p *product) gap() float64 {
	if p.first == nil || p.best == nil {
		return 0
	}
	return 1 - *p.first.Metrics.Effective / *p.best.Metrics.Effective
}

// rate returns the rate of a row in operations per second, or 0 without a row.
func rate(k *record.Kernel) float64 {
	if k == nil {
		return 0
	}
	return *k.Metrics.Effective
}

// reachable returns the rate that others measured on such a GPU with this type. It returns false if
// the rate is unknown, and on the loopback, whose own rates are invented.
func (p *product) reachable() (device.Reach, bool) {
	if p.device.Kind != record.GPU {
		return device.Reach{}, false
	}
	return device.ReachOf(p.device.Name, p.dtype)
}

// show fills a document with the products.
func show(d *document.Document, rec *record.Record) {
	d.Title = fmt.Sprintf("Matrix products on %s (%s)", plain.Line(rec.DeviceName()), rec.Source.Backend)
	if rec.Simulated {
		d.Banners = append(d.Banners, document.Banner{Kind: "simulated", Label: "SIMULATED", Text: "A stand-in took the place of the vendor's library: times are its model's, results were checked at reduced sizes."})
	}
	d.Foot = "Rates are decimal: 1 TFLOP/s = 1e12 operations per second. Tiles and what is lost are counted for the tile that loses least, without division of the depth."
	all := products(rec)
	whole := results(rec, all)
	d.Wide(whole, whole.Notes, shortColumns(len(rec.World.Devices) > 1, len(types(all)))...)
	if c := rates(rec, all); len(c.Bars) > 1 {
		d.Add("rates", "Rates by product", c)
	}
	aroundInto(d, rec, all)
	d.Add("libraries", "Libraries", document.Facts{{Term: "vendor's products", Text: plain.Line(rec.Source.Vendor)}})
}

// rates draws the best rate of each product beside the GPU's peak. With several GPUs it draws the
// median GPU.
func rates(rec *record.Record, all []*product) document.Bars {
	c := document.Bars{ID: "rates", Title: "TFLOP/s of the best choice"}
	for _, same := range byRate(asked(rec, all)) {
		p := same[len(same)/2]
		if p.best == nil {
			continue
		}
		s := p.shape
		b := document.Bar{Label: fmt.Sprintf("%s %d×%d×%d", p.dtype, s.M, s.N, s.K), Value: teraflops(p.best), Length: rate(p.best)}
		if peak := device.PeakOf(p.device.Name, p.dtype); peak > 0 && p.device.Kind == record.GPU {
			b.Marks = []document.BarMark{{At: peak}}
			c.Most = max(c.Most, peak)
		}
		c.Bars = append(c.Bars, b)
		c.Most = max(c.Most, b.Length)
	}
	return c
}

// shortColumns returns the columns that a terminal shows without --verbose, which have at most 100
// characters. Sizes that fill the units of several GPUs need no name. With several GPUs, their
// rates matter more than the first choice. The title names the type if there is only one.
func shortColumns(several bool, types int) []string {
	switch {
	case several && types == 1:
		return []string{sizeColumn, bestColumn, "of peak", sumColumn, "slowest GPU", "fastest GPU"}
	case several:
		return []string{sizeColumn, "type", bestColumn, "of peak", sumColumn, "slowest GPU", "fastest GPU"}
	}
	return []string{"product", sizeColumn, "type", bestColumn, "first choice", "of peak", "GPU at"}
}

const (
	sizeColumn  = "M×N×K"
	bestColumn  = "TFLOP/s"
	sumColumn   = "all GPUs"
	torchColumn = "as PyTorch calls it"
)

// results has one row per product. It omits columns that are empty in all rows.
func results(rec *record.Record, all []*product) table.Table {
	several := len(rec.World.Devices) > 1
	columns := []string{"product", sizeColumn, "batch", "layout", "type", bestColumn, "first choice", "gap", torchColumn, "plain product", "of reachable", "of peak", "GPU at", "tile", "tiles / units", "lost", "2ⁿ rows"}
	if several {
		columns = append(columns, sumColumn, "slowest GPU", "fastest GPU")
	}
	t := table.Of(columns)
	t.Title = "Matrix products"
	if several {
		t.Title += fmt.Sprintf(", %s, the median of %d GPUs", strings.Join(types(all), ", "), len(rec.World.Devices))
	}
	if rec.Simulated {
		t.Title += ", SIMULATED"
	}
	for _, same := range byRate(asked(rec, all)) {
		p, last := same[len(same)/2], len(same)-1
		s := p.shape
		f := Best(s, p.device.Units)
		in, out := Elements(p.dtype)
		share, ofPeak, at := unit.None, unit.None, ""
		if r, ok := p.reachable(); ok && p.best != nil {
			share = unit.Percent(rate(p.best) / r.Rate)
		}
		if p.best != nil {
			at = p.best.Timing.ConditionsText()
			if peak := device.PeakOf(p.device.Name, p.dtype); peak > 0 && p.device.Kind == record.GPU {
				ofPeak = unit.Percent(rate(p.best) / peak)
			}
		}
		size := fmt.Sprintf("%d×%d×%d", s.M, s.N, s.K)
		if s.Name == "" { // nothing else distinguishes the rows on a terminal
			size += "/" + s.Layout
		}
		row := []string{
			plain.Line(cmp.Or(strings.TrimSpace(s.Pass+" "+s.Name), unit.None)), size, fmt.Sprint(s.Batch), s.Layout, p.dtype,
			teraflops(p.best), teraflops(p.first), gapText(p), teraflops(p.torch), teraflops(p.plain), share, ofPeak, cmp.Or(at, unit.None),
			f.Tile.String(), fmt.Sprintf("%d / %d", f.Tiles, p.device.Units), unit.Percent(f.Lost), cmp.Or(s.Strides(in, out), unit.None),
		}
		if several {
			row = append(row, unit.Flops(total(same)))
			for _, o := range []*product{same[0], same[last]} {
				row = append(row, rec.GPU(o.any)+": "+teraflops(o.best))
			}
		}
		t.Add(row...)
	}
	t.Notes = notes(rec)
	return t.Only(func(name string, cells []string) bool {
		if rec.Simulated && name == torchColumn { // it would look like a measurement of PyTorch
			return false
		}
		return len(cells) == 0 || slices.ContainsFunc(cells, func(text string) bool { return text != unit.None })
	})
}

// types returns the element types of the products.
func types(all []*product) []string {
	return slice.Distinct(slice.Map(all, func(p *product) string { return p.dtype }))
}

// byRate groups the products of the same shape and type, each group with the slowest GPU first.
func byRate(all []*product) [][]*product {
	keys, of := slice.Group(all, func(p *product) string { return p.any.Job() })
	groups := slice.Map(keys, func(key string) []*product { return of[key] })
	for _, g := range groups {
		slices.SortStableFunc(g, func(a, b *product) int { return cmp.Compare(rate(a.best), rate(b.best)) })
	}
	return groups
}

// asked returns the products without neighbouring hidden sizes, which are only in the CSV.
func asked(rec *record.Record, all []*product) []*product {
	if !rec.OfKernels() || rec.Spec.Kernels.Around == 0 {
		return all
	}
	models, err := Models(rec.Spec.Kernels)
	if err != nil {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(p *product) bool {
		return !slices.ContainsFunc(models[0].Shapes, func(s Shape) bool { return s.Pass == p.shape.Pass && s.String() == p.shape.String() })
	})
}

func notes(rec *record.Record) []string {
	var lines []string
	add := func(text string) { lines = append(lines, plain.Line(text)) }
	for _, k := range rec.KernelRows() {
		if k.Status != record.OK {
			add(fmt.Sprintf("%s %s: %s: %s", k.Dtype, k.Shape.Text(), k.Status, k.Reason))
		}
		for _, w := range k.Warnings {
			if w.Code == "transposed" {
				add(fmt.Sprintf("%s %s: %s. %s.", k.Dtype, k.Shape.Text(), w.Message, plain.Capital(w.Hint)))
			}
		}
	}
	return slice.Distinct(lines)
}

func teraflops(k *record.Kernel) string {
	if k == nil {
		return unit.None
	}
	return unit.Digits(rate(k) / 1e12)
}

func gapText(p *product) string {
	if p.first == nil {
		return unit.None
	}
	return unit.Percent(p.gap())
}

// best summarises the best product in a few words.
func best(rec *record.Record) []document.Fact {
	if p := fastest(products(rec)); p != nil {
		return []document.Fact{{Term: "Best product", Text: unit.Flops(rate(p.best))}}
	}
	return nil
}

func fastest(all []*product) *product {
	var best *product
	for _, p := range all {
		if p.best != nil && (best == nil || rate(p.best) > rate(best.best)) {
			best = p
		}
	}
	return best
}

// noticed is the smallest reported gap between the first choice and the best choice.
const noticed = 0.02

// figures returns findings about the best rate, losses of first choices, strides, and hidden sizes.
func figures(rec *record.Record) finding.List {
	all := products(rec)
	var out finding.List
	say := func(code, text string) {
		if rec.Simulated && code != CodeStrides { // the sentence may be copied without the page around it
			text = "SIMULATED: " + text
		}
		out = append(out, finding.Finding{Code: code, Text: text})
	}
	p := fastest(all)
	if p == nil {
		return nil
	}
	text := fmt.Sprintf("Best product: %s %s at %s", p.dtype, p.shape.Size(), unit.Flops(rate(p.best)))
	text += kernel.Shares(rec, p.best)
	say(CodeRate, text+".")
	worst, n := p, 0
	var flagged []string
	wanted := byRate(asked(rec, all)) // a product on several GPUs counts once, with its largest gap
	for _, same := range wanted {
		o := slices.MaxFunc(same, func(a, b *product) int { return cmp.Compare(a.gap(), b.gap()) })
		if o.gap() >= noticed {
			n++
			if o.gap() > worst.gap() {
				worst = o
			}
		}
		in, bytes := Elements(o.dtype)
		if o.shape.Strides(in, bytes) != "" {
			flagged = append(flagged, o.shape.Size())
		}
	}
	if n > 0 {
		say(CodeGap, fmt.Sprintf("The heuristics' first choice is at least 2 %% slower than the best of those timed in %d of %d products; at the most %s (%s %s, choice %d).",
			n, len(wanted), unit.Percent(worst.gap()), worst.dtype, worst.shape.String(), worst.best.Config.Choice))
	}
	if len(flagged) > 0 {
		say(CodeStrides, fmt.Sprintf("Rows a power of two of bytes apart in %d of %d products, %s the first: pad the leading dimension or choose another size.", len(flagged), len(wanted), flagged[0]))
	}
	for _, line := range gpus(rec, all) {
		say(CodeGPUs, line)
	}
	if points, hidden := measured(rec, all); len(points) > 1 {
		for _, line := range Advise(points, hidden, unit.Flops) {
			say(CodeSizes, line)
		}
	}
	return out
}

// gpus names the fastest and the slowest of several GPUs, by the best product of each.
func gpus(rec *record.Record, all []*product) []string {
	if len(rec.World.Devices) < 2 {
		return nil
	}
	top := map[int]*product{}
	for _, p := range all {
		if o := top[p.device.Index]; p.best != nil && (o == nil || rate(p.best) > rate(o.best)) {
			top[p.device.Index] = p
		}
	}
	if len(top) < 2 {
		return nil
	}
	order := slices.SortedFunc(maps.Values(top), func(a, b *product) int {
		return cmp.Or(cmp.Compare(rate(a.best), rate(b.best)), cmp.Compare(a.device.Index, b.device.Index))
	})
	slow, fast := order[0], order[len(order)-1]
	where := ""
	if n := len(rec.World.Hosts); n > 1 {
		where = fmt.Sprintf(" of %d nodes", n)
	}
	sum, by := together(all)
	return []string{fmt.Sprintf("Reachable on %d GPUs%s at once: %s by %s; slowest %s at %s, fastest %s at %s, %s apart.",
		len(order), where, unit.Flops(sum), by.Size(), rec.GPU(slow.any), unit.Flops(rate(slow.best)), rec.GPU(fast.any), unit.Flops(rate(fast.best)), unit.Percent(1-rate(slow.best)/rate(fast.best)))}
}

// Function `together` returns the product with the highest sum of the rates of all GPUs, and this
// sum. The GPUs compute the product at the same time.
func together(all []*product) (sum float64, of Shape) {
	for _, same := range byRate(all) {
		if s := total(same); s > sum {
			sum, of = s, same[0].shape
		}
	}
	return sum, of
}

// total returns the sum of the GPUs' rates, in operations per second.
func total(same []*product) float64 {
	return slice.Sum(same, func(p *product) float64 { return rate(p.best) })
}

// measured returns the time of a microbatch at each hidden size in the request. It uses the first
// choices of the heuristics, because a job gets these choices.
func measured(rec *record.Record, all []*product) (points []Point, hidden int64) {
	if !rec.OfKernels() || rec.Spec.Kernels.Around == 0 {
		return nil, 0
	}
	models, err := Models(rec.Spec.Kernels)
	if err != nil {
		return nil, 0
	}
	times := map[string]float64{}
	dtype := all[0].dtype
	for _, p := range all {
		if p.first != nil && p.dtype == dtype && p.device.Index == all[0].device.Index {
			times[p.shape.Pass+p.shape.String()] = p.first.Timing.Seconds.Median
		}
	}
	for _, m := range models {
		one := Point{Hidden: m.Hidden}
		for _, s := range m.Shapes {
			t, ok := times[s.Pass+s.String()]
			if !ok {
				one.Flop = 0
				break
			}
			one.Flop += s.Flop() * float64(s.Count)
			one.Seconds += t * float64(s.Count)
		}
		if one.Flop > 0 {
			points = append(points, one)
		}
	}
	return sorted(points), models[0].Hidden
}

// aroundInto adds a picture of the hidden sizes, and a map of the losses to tiles over M and N.
func aroundInto(d *document.Document, rec *record.Record, all []*product) {
	if len(all) == 0 {
		return
	}
	points, hidden := measured(rec, all)
	if len(points) < 2 {
		return
	}
	bars := document.Bars{ID: "around", Title: "A microbatch's products over the hidden size"}
	if rec.Simulated { // bars have no mark of their own, and the picture may be copied alone
		bars.Title += ", SIMULATED"
	}
	for _, p := range points {
		bars.Bars = append(bars.Bars, document.Bar{Label: fmt.Sprint(p.Hidden), Value: unit.Flops(p.Rate()), Length: p.Rate(), Weak: p.Hidden != hidden})
		bars.Most = max(bars.Most, p.Rate())
	}
	d.Add("around", "Hidden sizes near by", bars, lossMap(points, all[0].device.Units))
}

// bold is the lost share from which the map shows a mark in bold.
const bold = 0.1

// lossMap returns the losses over M and N. N are the hidden sizes, and M are powers of two.
func lossMap(points []Point, units int) document.HeatMap {
	h := document.HeatMap{ID: "tiles", Title: fmt.Sprintf("Share lost to tiles over %d units, M (row) by N (column)", units), Limit: bold, Landscape: true}
	h.Columns = slice.Map(points, func(p Point) string { return fmt.Sprint(p.Hidden) })
	t := table.Of(append([]string{"M \\ N"}, h.Columns...))
	for m := int64(1024); m <= 32768; m *= 2 {
		shares := slice.Map(points, func(p Point) float64 { return Best(Shape{M: m, N: p.Hidden, K: 1, Batch: 1}, units).Lost })
		h.Rows, h.Shares = append(h.Rows, fmt.Sprint(m)), append(h.Shares, shares)
		t.Add(append([]string{fmt.Sprint(m)}, slice.Map(shares, unit.Percent)...)...)
	}
	h.Table = &document.Sheet{Table: t, Label: "What tiles lose"}
	return h
}
