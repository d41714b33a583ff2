// Package device knows what vendors publish of their GPUs: peak bandwidth, peak
// rates and caches, each figure with its source. A peak is what a measurement is
// held against, never a measurement.
package device

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"
	"sync"

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
	// From lists by source the figures it gives, Derived the arithmetic of those
	// that no source confirms. Every figure is in one of the two.
	From    map[string][]string `yaml:"from"`
	Derived map[string]string   `yaml:"derived"`
	// Source says where the bandwidth is published, Date when; find has the
	// other figures'.
	Source string `yaml:"-"`
	Date   string `yaml:"-"`
	// Computed is true for values that ByAttributes computed; they are not published.
	Computed bool `yaml:"-"`

	sources map[string]source
}

// source is a page that figures are from, and its date or version.
type source struct {
	Text string `yaml:"text"`
	Date string `yaml:"date"`
}

//go:embed devices.yaml
var text []byte

var table = sync.OnceValue(func() []Device { return must(read(text)) })

// must is a table that was embedded, which a test reads, too.
func must[T any](list []T, err error) []T {
	if err != nil {
		panic("device: " + err.Error())
	}
	return list
}

// decode reads YAML without fields that are not known.
func decode(text []byte, into any) error {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	return d.Decode(into)
}

// readList reads a list of what others published.
func readList[T interface{ check() error }](text []byte) ([]T, error) {
	var list []T
	if err := decode(text, &list); err != nil {
		return nil, err
	}
	for _, e := range list {
		if err := e.check(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// figures are an entry's numbers by name.
func (d *Device) figures() map[string]float64 {
	return map[string]float64{
		"units": float64(d.Units), "memory": float64(d.Memory), "cache": float64(d.Cache),
		"shared": float64(d.Shared), "bandwidth": d.Bandwidth, "bf16": d.BF16, "fp16": d.FP16,
	}
}

// find is where a figure is from, or the arithmetic it comes from.
func (d *Device) find(figure string) (s source, found int) {
	for id, figures := range d.From {
		for _, f := range figures {
			if f == figure {
				s, found = d.sources[id], found+1
			}
		}
	}
	if arithmetic, ok := d.Derived[figure]; ok {
		s, found = source{Text: "not confirmed by a page: " + arithmetic}, found+1
	}
	return s, found
}

// check refuses an entry that lacks a figure or one that has not one source.
func (d *Device) check() error {
	if d.Name == "" || len(d.Match) == 0 || d.Arch == "" {
		return fmt.Errorf("%q lacks its name, match or arch", d.Name)
	}
	for id := range d.From {
		if s, known := d.sources[id]; !known || s.Text == "" || s.Date == "" {
			return fmt.Errorf("%s: source %s lacks its text or date", d.Name, id)
		}
	}
	for what, v := range d.figures() {
		if !(v > 0) {
			return fmt.Errorf("%s: %s is %g", d.Name, what, v)
		}
		if s, found := d.find(what); found != 1 || s.Text == "" {
			return fmt.Errorf("%s: %s has %d sources, not one", d.Name, what, found)
		}
	}
	return nil
}

// read parses the table and refuses an entry that lacks a figure or its source.
func read(data []byte) ([]Device, error) {
	var file struct {
		Sources map[string]source `yaml:"sources"`
		Devices []Device          `yaml:"devices"`
	}
	if err := decode(data, &file); err != nil {
		return nil, err
	}
	for i := range file.Devices {
		e := &file.Devices[i]
		e.sources = file.Sources
		if err := e.check(); err != nil {
			return nil, err
		}
		s, _ := e.find("bandwidth")
		e.Source, e.Date = s.Text, s.Date
	}
	return file.Devices, nil
}

// All lists the table.
func All() []Device { return table() }

// Lookup finds the GPU by the name that its driver gives, as "AMD Instinct
// MI300X OAM" or "NVIDIA H200". False for one that is not in the table.
func Lookup(name string) (Device, bool) {
	name = strings.ToLower(name)
	for _, d := range table() {
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
