package judge

import (
	"zbench/bench/hardware/device"
	"zbench/bench/run/record"
)

// Published returns the figures that others published of the record's devices. It has figures only for
// records of hbm.
func Published(rec *record.Record) []device.Published {
	var out []device.Published
	seen := map[string]bool{}
	for _, d := range rec.World.Devices {
		known, ok := device.Lookup(d.Name)
		if !ok || d.Kind != record.GPU || rec.Benchmark() != "hbm" || seen[known.Name] {
			continue
		}
		seen[known.Name] = true
		out = append(out, device.PublishedFor(known.Name)...)
	}
	return out
}
