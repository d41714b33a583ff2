package fabric

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"zbench/bench/hardware/collective"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
)

// Curve holds the model's constants for one collective and number of ranks. B is in bytes per
// second, K is the bus-bandwidth factor, and all other constants are in seconds.
type Curve struct {
	B, A, R, Floor, K float64
}

// valid reports whether every constant is finite and has the right sign.
func (c Curve) valid() bool {
	wrong := func(v float64) bool { return !within(v, math.MaxFloat64) }
	return !slices.ContainsFunc([]float64{c.B, c.A, c.R, c.Floor, c.K}, wrong) && c.B > 0 && c.Floor > 0
}

// Time returns the time, in seconds, for a total size in bytes. The loopback has the same ten lines
// in C, and a test requires results that are equal to the last bit, so the order of operations
// matters.
func (c Curve) Time(bytes float64) float64 {
	x := c.K * bytes / c.B
	pipeline := c.A + 2*math.Sqrt(c.A*x)
	if c.R < pipeline {
		pipeline = c.R
	}
	t := x + pipeline
	if t < c.Floor {
		return c.Floor
	}
	return t
}

// Conditions are the inputs for resolving a machine, besides the world.
type Conditions struct {
	Seed uint64
	// Groups are sizes of sub-communicators of neighbours. Strides are distances of ranks in other
	// sub-communicators. Scales are numbers of nodes. The machine has constants for each of them.
	Groups, Strides, Scales []int
	// Faults are planted in addition to the fabric's own faults, in the form that `zbench list
	// faults` shows.
	Faults []string
	// Pairs adds the times of messages between two GPUs (Machine.Ways).
	Pairs bool
}

// Machine is a fabric resolved for one world. It has everything that the loopback needs.
type Machine struct {
	spec.World
	GPU  string
	Host Host
	// HBM is the size of a GPU's memory in bytes.
	HBM int64
	// HBMRate is the rate of a GPU's memory, in bytes per second; 0 if it is not modelled.
	HBMRate float64
	// CollVersion is the version number that the collectives library reports, such as 22203 for
	// 2.22.3; 0 means the loopback's own.
	CollVersion int
	// Policies describes the effects of registered buffers and of policies for compute units.
	Policies Policies
	Seed     uint64
	// Curves holds the constants by group and collective.
	Curves map[Group]map[string]Curve
	// Measured are measured times of collectives over all ranks, in ascending order of bytes. They
	// replace the times of Curves. They are only used in the machine file.
	Measured map[string][]Point
	// Faults are the lines of the machine file that plant faults.
	Faults []string
	// Ways are the times of messages between two GPUs; nil if every message takes the time of its
	// communicator's send_recv.
	Ways *Ways
	// NICs are the numbers, within the node, of the NICs that the ranks use to send; −1 if no NIC
	// works. It is nil if the world does not have one NIC per GPU. The machine file does not
	// contain it.
	NICs []int
	// Extrapolated lists the parts of the constants that were not measured, by group and
	// collective. Among similar groups it has only the first.
	Extrapolated map[Group]map[string][]string
	// Ends are the constants at both ends of the model's bracket, for groups and collectives with a
	// bracket. The machine file does not contain them.
	Ends map[Group]map[string]Ends
}

// ReadCollVersion returns the CollVersion of a version such as 2.30.4. It accepts versions from 2.9
// on.
func ReadCollVersion(text string) (int, error) {
	var major, minor, patch int
	_, err := fmt.Sscanf(text, "%d.%d.%d", &major, &minor, &patch)
	if err != nil || text != fmt.Sprintf("%d.%d.%d", major, minor, patch) || major != 2 || minor < 9 || patch < 0 || max(minor, patch) > 99 {
		return 0, fmt.Errorf("%q is not a version of RCCL or NCCL from 2.9.0 on, such as 2.30.4", text)
	}
	return major*10000 + minor*100 + patch, nil
}

// Point is the measured time, in seconds, of a total size in bytes.
type Point struct {
	Bytes   int64
	Seconds float64
}

// Measure replaces the times of a collective over all ranks by measured times. The times were
// measured without faults. So the machine's faults lengthen them, by the same factor as the model's
// times. healthy is the machine without faults.
func (m *Machine) Measure(collective string, points []Point, healthy *Machine) {
	if m.Measured == nil {
		m.Measured = map[string][]Point{}
	}
	for _, p := range points {
		size, g := float64(p.Bytes), m.Whole()
		p.Seconds *= m.Curves[g][collective].Time(size) / healthy.Curves[g][collective].Time(size)
		m.Measured[collective] = append(m.Measured[collective], p)
	}
}

// Whole is the group of all ranks.
func (m *Machine) Whole() Group { return Group{Ranks: m.Size()} }

// Resolve applies the fabric to a world. If the fabric does not allow such a world, the error gives
// the valid range.
func (f *Fabric) Resolve(w spec.World, o Conditions) (*Machine, error) {
	switch {
	case w.Nodes < 1 || w.Nodes > f.MaxNodes:
		return nil, fmt.Errorf("fabric %s has 1 to %d nodes, not %d", f.Name, f.MaxNodes, w.Nodes)
	case w.GPUsPerNode < 1 || w.GPUsPerNode > f.Node.GPUs:
		return nil, fmt.Errorf("fabric %s has 1 to %d GPUs a node, not %d", f.Name, f.Node.GPUs, w.GPUsPerNode)
	case w.GPUsPerProcess < 1 || w.GPUsPerNode%w.GPUsPerProcess != 0:
		return nil, fmt.Errorf("%d GPUs a process do not divide the %d GPUs of a node", w.GPUsPerProcess, w.GPUsPerNode)
	}
	m := &Machine{
		World: w, GPU: f.GPU, Host: f.Host, HBM: f.Node.HBMBytes, HBMRate: f.Node.HBMRate, Policies: f.Policies, Seed: o.Seed,
		Curves: map[Group]map[string]Curve{}, Extrapolated: map[Group]map[string][]string{},
		Ends: map[Group]map[string]Ends{},
	}
	broken := damage{rails: map[[2]int]float64{}, crossed: map[[2]int]int{}, taken: map[string]string{}}
	for _, text := range append(slices.Clone(f.Faults), o.Faults...) {
		if err := plant(text, m, &broken); err != nil {
			return nil, err
		}
	}
	groups, err := groups(w, o)
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		if err := f.resolveGroup(m, g, broken); err != nil {
			return nil, err
		}
	}
	m.NICs = broken.carriers(m, f.Node.NICs)
	if o.Pairs {
		m.Ways = f.ways(m, broken)
	}
	return m, nil
}

func (f *Fabric) resolveGroup(m *Machine, g Group, broken damage) error {
	if m.Curves[g] != nil {
		return nil
	}
	w := g.world(m.World)
	curves, extrapolated := map[string]Curve{}, map[string][]string{}
	for _, c := range collective.All() {
		curve, doubts := f.curve(c, w)
		rails, left := f.fairRails(g, m.World), broken.share(f, m.World, g)
		ends, bracketed := f.ends(c, w, curve)
		for _, x := range []*Curve{&curve, &ends.Fastest, &ends.Slowest} {
			x.B = min(x.B, rails) * left
		}
		if bracketed && g.First == 0 {
			if m.Ends[g] == nil {
				m.Ends[g] = map[string]Ends{}
			}
			m.Ends[g][c.Name] = ends
		}
		if !curve.valid() {
			return fmt.Errorf("fabric %s: the models give no usable constants for %s on %d nodes: %+v", f.Name, c.Name, w.Nodes, curve)
		}
		curves[c.Name] = curve
		extrapolated[c.Name] = doubts
	}
	m.Curves[g] = curves
	if g.First == 0 {
		m.Extrapolated[g] = extrapolated
	}
	return nil
}

// curve returns the constants for a collective, and describes the parts that were not measured.
func (f *Fabric) curve(c collective.Collective, w spec.World) (Curve, []string) {
	model := f.model(w.Nodes)
	b, doubts := f.busBW(model, w)
	if model.Extrapolated != "" {
		doubts = append(doubts, model.Extrapolated)
	}
	switch {
	case c.Name == "all_reduce":
	case c.Messages():
		b = min(b, f.pair(model, w))
		doubts = append(doubts, "no "+c.Name+" table by size is published: the rate of one link or rail, with all_reduce's latency")
	default:
		doubts = append(doubts, "no "+c.Name+" table by size is published: all_reduce's constants with its own bus factor")
	}
	n := float64(w.Nodes)
	return Curve{
		B: b, K: c.BusFactor(w.Size()),
		A: model.A.at(n), R: model.R.at(n), Floor: model.Floor.at(n),
	}, doubts
}

// busBW returns the constant B. Inside a node it is the value measured for this number of GPUs, or
// the rate of their links. Between nodes it is the smaller of two rates: the mesh's links and the
// rails in use.
func (f *Fabric) busBW(m *Model, w spec.World) (b float64, doubts []string) {
	g := w.GPUsPerNode
	if w.Nodes > 1 {
		rails := float64(min(g, f.Node.NICs)) * f.Node.NICLineRate * m.RailEfficiency
		if g < f.Node.GPUs {
			doubts = append(doubts, fmt.Sprintf("%d of %d GPUs per node: only all GPUs were measured", g, f.Node.GPUs))
		}
		if g == 1 {
			return rails, doubts
		}
		return min(float64(g)*f.Node.Link, rails), doubts
	}
	if b, ok := m.BusBW[g]; ok {
		if slices.Contains(m.ExtrapolatedGPUs, g) {
			doubts = append(doubts, fmt.Sprintf("%d GPUs: from the number of links", g))
		}
		return b, doubts
	}
	if g == 1 {
		return f.Node.Link, nil // one rank sends nothing, and K is 0
	}
	return float64(g-1) * f.Node.Link, []string{fmt.Sprintf("%d GPUs: from the number of links", g)}
}

// pair returns the rate of messages from one GPU to one other GPU. Within a node they use one link.
// Between nodes they use the GPU's rail, or its share of a rail.
func (f *Fabric) pair(m *Model, w spec.World) float64 {
	rate := math.Inf(1)
	if w.GPUsPerNode > 1 {
		rate = f.Node.Link
	}
	if w.Nodes > 1 {
		rate = min(rate, f.Node.NICLineRate*m.RailEfficiency*min(1, float64(f.Node.NICs)/float64(w.GPUsPerNode)))
	}
	return rate
}

func (l Law) at(n float64) float64 {
	v := l.Base + l.PerLog2*math.Log2(n)
	if l.Power != 0 {
		v *= math.Pow(n/l.ReferenceNodes, l.Power)
	}
	return v
}

// Text returns the machine file. It has one fact per line; numbers are in the shortest form that
// reads back to the same bits.
func (m *Machine) Text() []byte {
	var b strings.Builder
	put := func(key string, values ...float64) {
		b.WriteString(key)
		for _, v := range values {
			b.WriteString(" " + shortest(v))
		}
		b.WriteByte('\n')
	}
	b.WriteString("zbench-machine 1\n")
	fmt.Fprintf(&b, "gpu %s\nseed %d\n", m.GPU, m.Seed)
	put("ranks", float64(m.Size()))
	put("gpus_per_process", float64(m.GPUsPerProcess))
	put("hbm_bytes", float64(m.HBM))
	if m.HBMRate > 0 {
		put("hbm_rate", m.HBMRate)
	}
	if m.CollVersion > 0 {
		put("collectives_version", float64(m.CollVersion))
	}
	for _, by := range []struct {
		key string
		Faster
	}{{"copies", m.Policies.Copies}, {"symmetric", m.Policies.Symmetric}} {
		if by.Rate > 0 {
			put(by.key, by.Rate, by.Latency, float64(m.GPUsPerNode))
		}
	}
	if m.Policies.Register > 0 {
		put("registers", m.Policies.Register)
	}
	put("launch", m.Host.Launch)
	put("exit_jitter", m.Host.ExitJitter)
	put("noise", m.Host.Noise)
	put("event", m.Host.Event)
	for _, g := range slices.SortedFunc(maps.Keys(m.Curves), Group.compare) {
		for _, name := range collective.Names() {
			c := m.Curves[g][name]
			fmt.Fprintf(&b, "curve %s %d %d %d", name, g.First, g.Ranks, g.stride())
			put("", c.B, c.A, c.R, c.Floor, c.K)
			if g == m.Whole() {
				for _, p := range m.Measured[name] {
					put("point", float64(p.Bytes), p.Seconds)
				}
			}
			if len(m.Extrapolated[g][name]) > 0 {
				fmt.Fprintf(&b, "extrapolated %s %d %d %d\n", name, g.First, g.Ranks, g.stride())
			}
		}
	}
	if m.Ways != nil {
		b.WriteString(strings.Join(m.Ways.text(m.GPUsPerNode), "\n") + "\n")
	}
	for _, line := range m.Faults {
		b.WriteString("fault " + line + "\n")
	}
	return []byte(b.String())
}

// WrongData reports whether a planted fault makes data wrong, not only times.
func (m *Machine) WrongData() bool {
	return slices.ContainsFunc(m.Faults, func(line string) bool {
		return strings.HasPrefix(line, "data ") || strings.HasPrefix(line, "store ")
	})
}

// Launch returns the model's time of one launch in a burst, in seconds. It is the time of the
// curve, or the time of the host if the host is slower. The host can be slower, because a process
// launches on its GPUs one after the other. It is 0 if there is no such group.
func (m *Machine) Launch(g Group, collective string, bytes int64) float64 {
	curve, ok := m.Curves[g][collective]
	if !ok {
		return 0
	}
	return m.launch(curve, bytes)
}

func (m *Machine) launch(c Curve, bytes int64) float64 {
	return max(c.Time(float64(bytes)), float64(m.GPUsPerProcess)*m.Host.Launch)
}

// Describe returns the description of the fabric for a record.
func (f *Fabric) Describe(m *Machine) *record.Fabric {
	out := &record.Fabric{Name: f.Name, Title: f.Title, Sources: f.Sources, Roofs: []record.Roof{}, Extrapolated: []string{}, Bracket: f.describeEnds(m)}
	for _, r := range f.Roofs {
		if !r.Nodes.holds(m.Nodes) || (r.GPUs != 0 && r.GPUs != m.GPUsPerNode) {
			continue
		}
		if bw := f.roof(r, m.GPUsPerNode); bw > 0 {
			out.Roofs = append(out.Roofs, record.Roof{Label: r.Label, BusBW: bw, Source: r.Source})
		}
	}
	groups := slices.SortedFunc(maps.Keys(m.Extrapolated), Group.compare)
	slices.Reverse(groups) // the whole world first
	for _, g := range groups {
		for _, name := range collective.Names() {
			for _, doubt := range m.Extrapolated[g][name] {
				if !slices.Contains(out.Extrapolated, doubt) {
					out.Extrapolated = append(out.Extrapolated, doubt)
				}
			}
		}
	}
	return out
}

func (f *Fabric) roof(r Roof, gpus int) float64 {
	switch r.Per {
	case "links_raw":
		return float64(gpus-1) * f.Node.LinkRaw
	case "rails":
		return float64(min(gpus, f.Node.NICs)) * f.Node.NICLineRate
	}
	return r.BusBW
}
