// Package device holds the figures that vendors publish for their GPUs: peak bandwidth, peak rates
// and caches, each with its source. Measurements are compared with these peaks; a peak is never a
// measurement.
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
	// Memory and Cache (the last level) are in bytes. Shared is the largest shared memory of a
	// block (LDS), in bytes.
	Memory int64 `yaml:"memory"`
	Cache  int64 `yaml:"cache"`
	Shared int64 `yaml:"shared"`
	// Bandwidth is the memory's peak in bytes per second; BF16 and FP16 are dense
	// matrix rates in FLOP/s.
	Bandwidth float64 `yaml:"bandwidth"`
	BF16      float64 `yaml:"bf16"`
	FP16      float64 `yaml:"fp16"`
	// From lists the figures that each source gives, Derived the arithmetic of unconfirmed figures.
	// Every figure is in one of the two.
	From    map[string][]string `yaml:"from"`
	Derived map[string]string   `yaml:"derived"`
	// Source says where the bandwidth is published, Date when; find returns the other figures'
	// sources.
	Source string `yaml:"-"`
	Date   string `yaml:"-"`
	// Computed is true for values from ByAttributes, which are not published.
	Computed bool `yaml:"-"`

	sources map[string]source
}

// source is a page with figures, and its date or version.
type source struct {
	Text string `yaml:"text"`
	Date string `yaml:"date"`
}

//go:embed devices.yaml
var text []byte

var table = sync.OnceValue(func() []Device { return must(read(text)) })

// must returns an embedded table; a test reads every table as well.
func must[T any](list []T, err error) []T {
	if err != nil {
		panic("device: " + err.Error())
	}
	return list
}

// decode reads YAML and refuses unknown fields.
func decode(text []byte, into any) error {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	return d.Decode(into)
}

// readList reads a list of others' published figures.
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

// find returns the source of a figure, or the arithmetic behind it.
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

// check refuses an entry that lacks a figure, or whose figure does not have exactly one source.
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

// All returns the table.
func All() []Device { return table() }

// Lookup finds the GPU by its driver's name, such as "AMD Instinct MI300X OAM" or "NVIDIA H200". It
// returns false if the table lacks it.
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

// Attributes are the driver's figures of a device that is not in the table.
type Attributes struct {
	Name, Arch string
	Units      int
	// MemoryClock is in Hz, BusWidth in bits, L2 and Shared in bytes.
	MemoryClock float64
	BusWidth    int
	L2, Shared  int64
}

// ByAttributes computes a bandwidth for a GPU that is not in the table: clock × 2 × bus width / 8,
// with two transfers per clock. The result is Computed: MI300X's attributes, 1.3 GHz and 8,192
// bits, would give half of its published peak, because its memory makes four transfers per reported
// clock. Matrix rates stay zero, because no attribute gives them.
func ByAttributes(a Attributes) Device {
	return Device{
		Name: a.Name, Arch: a.Arch, Units: a.Units, Cache: a.L2, Shared: a.Shared,
		Bandwidth: a.MemoryClock * 2 * float64(a.BusWidth) / 8,
		Source:    "memory clock × 2 × bus width of the driver's attributes; may be off by a factor of two", Computed: true,
	}
}
