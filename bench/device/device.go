// Package device knows what vendors publish of their GPUs: peak bandwidth, peak
// rates and caches, each with its source. A peak is what a measurement is held
// against, never a measurement.
package device

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Device is one kind of GPU as its vendor describes it.
type Device struct {
	Name  string   `yaml:"name"`
	Match []string `yaml:"match"`
	// Arch is the architecture that kernels are compiled for.
	Arch string `yaml:"arch"`
	// Units are compute units or multiprocessors.
	Units int `yaml:"units"`
	// Memory and Cache (the last level) are in bytes, Shared is a block's shared
	// memory (LDS) at most.
	Memory int64 `yaml:"memory"`
	Cache  int64 `yaml:"cache"`
	Shared int64 `yaml:"shared"`
	// Bandwidth is the memory's peak in bytes per second; BF16 and FP16 are dense
	// matrix rates in FLOP/s.
	Bandwidth float64 `yaml:"bandwidth"`
	BF16      float64 `yaml:"bf16"`
	FP16      float64 `yaml:"fp16"`
	// Source says where all of it is published, Date when.
	Source string `yaml:"source"`
	Date   string `yaml:"date"`
	// Computed is true for what ByAttributes worked out: nobody published it.
	Computed bool `yaml:"-"`
}

//go:embed devices.yaml
var text []byte

var table = mustRead(text)

func mustRead(data []byte) []Device {
	list, err := read(data)
	if err != nil {
		panic("device: " + err.Error()) // a test reads the table
	}
	return list
}

// read parses the table and refuses an entry that lacks a figure or its source.
func read(data []byte) ([]Device, error) {
	var list []Device
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(&list); err != nil {
		return nil, err
	}
	for _, e := range list {
		if e.Name == "" || len(e.Match) == 0 || e.Arch == "" || e.Source == "" || e.Date == "" {
			return nil, fmt.Errorf("%q lacks its name, match, arch, source or date", e.Name)
		}
		for what, v := range map[string]float64{
			"units": float64(e.Units), "memory": float64(e.Memory), "cache": float64(e.Cache),
			"shared": float64(e.Shared), "bandwidth": e.Bandwidth, "bf16": e.BF16, "fp16": e.FP16,
		} {
			if !(v > 0) {
				return nil, fmt.Errorf("%s: %s is %g", e.Name, what, v)
			}
		}
	}
	return list, nil
}

// All lists the table.
func All() []Device { return table }

// Lookup finds the GPU by the name that its driver gives, as "AMD Instinct
// MI300X OAM" or "NVIDIA H200". False for one that is not in the table.
func Lookup(name string) (Device, bool) {
	name = strings.ToLower(name)
	for _, d := range table {
		for _, part := range d.Match {
			if strings.Contains(name, part) {
				return d, true
			}
		}
	}
	return Device{}, false
}

// Attributes are what a driver tells of a device that is not in the table.
type Attributes struct {
	Name, Arch string
	Units      int
	// MemoryClock is in Hz, BusWidth in bits, L2 and Shared in bytes.
	MemoryClock float64
	BusWidth    int
	L2, Shared  int64
}

// ByAttributes works a bandwidth out for a GPU that is not in the table: clock ×
// 2 × bus width / 8, two transfers a clock. It is Computed: MI300X's attributes,
// 1.3 GHz and 8,192 bits, would give half of its published peak, because its
// memory makes four transfers a clock that is reported. Matrix rates stay
// zero: no attribute tells them.
func ByAttributes(a Attributes) Device {
	return Device{
		Name: a.Name, Arch: a.Arch, Units: a.Units, Cache: a.L2, Shared: a.Shared,
		Bandwidth: a.MemoryClock * 2 * float64(a.BusWidth) / 8,
		Source:    "memory clock × 2 × bus width of the driver's attributes; may be off by a factor of two", Computed: true,
	}
}
