package rails

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/run/record"
	"zbench/bench/show/table"
)

// Survey describes zbench's own measurement.
type Survey struct {
	// Simulated is true if the loopback's model decided the times.
	Simulated bool `json:"simulated"`
	// Backend is loopback, rocm or cuda.
	Backend string `json:"backend"`
	// Fabric is the hardware that was simulated; absent otherwise.
	Fabric string `json:"fabric,omitempty"`
	// Faults are the faults planted into the simulation.
	Faults []string `json:"faults,omitempty"`
	// Seed of the plan and of a simulation's noise, an unsigned 64-bit integer.
	Seed uint64 `json:"seed"`
	// Nodes are the names of the nodes, in the order of their numbers.
	Nodes []string `json:"nodes"`
	// GPUs is the number of GPUs of each node; rails have the same numbers.
	GPUs int `json:"gpus_per_node"`
	// Leaves are the names of leaf switches by rail and node, "" if unknown; absent if no name is known.
	Leaves [][]string `json:"leaves,omitempty"`
	// Bytes of a message, in each direction.
	Bytes int64 `json:"bytes"`
	// Launches is the number of samples of each pair in a round.
	Launches int `json:"launches"`
	// Rounds is the number of rounds.
	Rounds int `json:"rounds"`
	// NetworkRounds is the number of rounds between nodes, including rings.
	NetworkRounds int `json:"network_rounds"`
	// NetworkSeconds is the median time of a message between nodes, in seconds; null if
	// none was measured.
	NetworkSeconds *float64 `json:"network_seconds" jsonschema:"exclusiveMinimum=0"`
	// XGMISeconds is the median time of a message within nodes, in seconds; null if none was measured.
	XGMISeconds *float64 `json:"xgmi_seconds" jsonschema:"exclusiveMinimum=0"`
	// Counters holds the increase of each node's NIC counters; absent if none were read.
	Counters []record.NICCounters `json:"counters,omitempty"`
	// ActualRails lists the NICs that carried the bytes of each GPU while one GPU of every node ran
	// a ring; absent if no counters were read.
	ActualRails []ActualRail `json:"actual_rails,omitempty"`
}

// OfSurvey makes the document of zbench's own measurement.
func OfSurvey(s *Survey, timings []Timing, v *Verdict) *Document {
	d := documentOf(Measured, "", v, names{hosts: s.Nodes, leaves: s.numbered()}, nil)
	d.Survey = s
	s.NetworkSeconds, s.XGMISeconds = typical(timings, Network), typical(timings, XGMI)
	d.Limit = max(v.NetworkLimit, v.LinkLimit)
	d.actual(s)
	d.heats(s, v)
	d.Pairs = pairRates(s, timings)
	d.sort(s.Nodes, v)
	for _, one := range []struct {
		seconds *float64
		what    string
	}{{s.NetworkSeconds, "between nodes"}, {s.XGMISeconds, "within nodes"}} {
		if one.seconds != nil {
			d.Notes = append(d.Notes, fmt.Sprintf("median message %s: %s for %s, %s in each direction", one.what, unit.Seconds(*one.seconds), unit.Bytes(s.Bytes), unit.Rate(float64(s.Bytes) / *one.seconds)))
		}
	}
	return d
}

// pairRates returns the rates between the GPUs of a node, each way, in bytes per second: the median
// over nodes and rounds, NaN if a pair was not timed.
func pairRates(s *Survey, timings []Timing) [][]float64 {
	all := make([][][]float64, s.GPUs)
	for a := range all {
		all[a] = make([][]float64, s.GPUs)
	}
	for _, t := range timings {
		if timed := t.Timed(); t.Kind == XGMI && len(timed) > 0 {
			a, b, rate := t.Pair.A.GPU, t.Pair.B.GPU, float64(s.Bytes)/median(timed)
			all[a][b], all[b][a] = append(all[a][b], rate), append(all[b][a], rate)
		}
	}
	return slice.Map(all, func(row [][]float64) []float64 { return slice.Map(row, median) })
}

// PairTable returns the matrix of GPUs in GB/s; without columns if no pair was timed.
func (d *Document) PairTable() table.Table {
	known := slices.ContainsFunc(d.Pairs, func(row []float64) bool {
		return slices.ContainsFunc(row, func(rate float64) bool { return !math.IsNaN(rate) })
	})
	if !known {
		return table.Table{}
	}
	names := []string{"GPU"}
	for gpu := range d.Pairs {
		names = append(names, strconv.Itoa(gpu))
	}
	t := table.Numbers(names...)
	for gpu, row := range d.Pairs {
		t.Add(append([]string{strconv.Itoa(gpu)}, slice.Map(row, gigabytes)...)...)
	}
	return t
}

// gigabytes formats a rate in GB/s; – if unknown.
func gigabytes(rate float64) string {
	if math.IsNaN(rate) {
		return "–"
	}
	return fmt.Sprintf("%.1f", rate/1e9)
}

// numbered returns the names of leaf switches by rail, in the order of their first nodes.
func (s *Survey) numbered() [][]string {
	return slice.Map(s.Leaves, func(leaves []string) []string {
		return slice.Distinct(slice.Where(leaves, func(leaf string) bool { return leaf != "" }))
	})
}

// NumberedLeaves returns the leaf switches by rail and node, counted from 0 on each rail; −1 if
// unknown.
func (s *Survey) NumberedLeaves() [][]int {
	var out [][]int
	for rail, leaves := range s.numbered() {
		out = append(out, slice.Map(s.Leaves[rail], func(leaf string) int { return slices.Index(leaves, leaf) })) // −1 for ""
	}
	return out
}

// timedOf returns the samples of a kind of rounds.
func timedOf(timings []Timing, kind Kind) []float64 {
	var all []float64
	for _, t := range timings {
		if t.Kind == kind {
			all = append(all, t.Timed()...)
		}
	}
	return all
}

// `typical` returns the median time of a kind of rounds; nil if there is none.
func typical(timings []Timing, kind Kind) *float64 {
	if all := timedOf(timings, kind); len(all) > 0 {
		return new(median(all))
	}
	return nil
}

// heats adds the maps of rails and of links. Nodes are columns, because there are many.
func (d *Document) heats(s *Survey, v *Verdict) {
	var rails, links []string
	lost := map[Part][][]float64{}
	unknown := slices.Repeat([]float64{math.NaN()}, len(s.Nodes))
	for a := range s.GPUs {
		rails, lost[Rail] = append(rails, strconv.Itoa(a)), append(lost[Rail], slices.Clone(unknown))
		for b := a + 1; b < s.GPUs; b++ {
			links, lost[Link] = append(links, fmt.Sprintf("%d–%d", a, b)), append(lost[Link], slices.Clone(unknown))
		}
	}
	f := Fleet{GPUs: s.GPUs}
	for _, r := range v.Ranking {
		row := r.Component.A
		if r.Component.Part == Link {
			row = f.link(r.Component.A, r.Component.B)
		}
		lost[r.Component.Part][row][r.Component.Node] = r.Lost
	}
	const what = " (row) by node (column), share of the median's bandwidth lost"
	if s.NetworkSeconds != nil {
		d.heat("rails", "Rail"+what, rails, s.Nodes, lost[Rail], v.NetworkLimit)
	}
	if s.XGMISeconds != nil {
		d.heat("links", "xGMI link"+what, links, s.Nodes, lost[Link], v.LinkLimit)
	}
}

// WriteRounds writes the times as CSV, one line for each pair of each round. For a ring the second end is
// empty, and the first end is the rail.
func WriteRounds(w io.Writer, s *Survey, timings []Timing) error {
	header := []string{"round", "kind", "node_a", "gpu_a", "node_b", "gpu_b", "median_seconds", "bytes_per_second", "samples"}
	var lines [][]string
	for _, t := range timings {
		line := []string{strconv.Itoa(t.Round), map[Kind]string{Network: "network", XGMI: "xgmi", Rings: "ring"}[t.Kind]}
		if t.Kind == Rings {
			line = append(line, "", strconv.Itoa(t.Pair.A.GPU), "", "")
		} else {
			line = append(line, s.Nodes[t.Pair.A.Node], strconv.Itoa(t.Pair.A.GPU), s.Nodes[t.Pair.B.Node], strconv.Itoa(t.Pair.B.GPU))
		}
		seconds, rate := "", ""
		timed := t.Timed()
		if len(timed) > 0 {
			m := median(timed)
			seconds, rate = strconv.FormatFloat(m, 'g', 9, 64), strconv.FormatFloat(float64(s.Bytes)/m, 'g', 6, 64)
		}
		lines = append(lines, append(line, seconds, rate, strconv.Itoa(len(timed))))
	}
	return table.CSV(w, header, lines)
}
