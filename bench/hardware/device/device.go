// Package device holds the figures that vendors publish for their GPUs: peak bandwidth, peak rates
// and cache sizes, each with its source. A peak is never a measurement; measurements are compared
// with it.
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
	// Units is the number of compute units or multiprocessors.
	Units int `yaml:"units"`
	// Memory is in bytes, Cache is the last level's size in bytes, and Shared is the largest shared
	// memory (LDS) of a block in bytes.
	Memory int64 `yaml:"memory"`
	Cache  int64 `yaml:"cache"`
	Shared int64 `yaml:"shared"`
	// Bandwidth is the memory's peak in bytes per second. BF16 and FP16 are peak rates of dense
	// matrix products in FLOP/s.
	Bandwidth float64 `yaml:"bandwidth"`
	BF16      float64 `yaml:"bf16"`
	FP16      float64 `yaml:"fp16"`
	// From lists the figures that each source gives. Derived has the arithmetic behind figures that
	// no source gives. Every figure is in one of the two.
	From    map[string][]string `yaml:"from"`
	Derived map[string]string   `yaml:"derived"`
	// Source says where the bandwidth is published, and Date says when. The method find returns the
	// sources of the other figures.
	Source string `yaml:"-"`
	Date   string `yaml:"-"`
	// Computed is true if ByAttributes computed the values. Such values are not published.
	Computed bool `yaml:"-"`

	sources map[string]source
}

// source is a page that publishes figures, with its date or version.
type source struct {
	Text string `yaml:"text"`
	Date string `yaml:"date"`
}

//go:embed devices.yaml
var text []byte

var table = sync.OnceValue(func() []Device { return must(read(text)) })

// Function `must` returns an embedded table and panics on an error. A test reads every table, so a
// release never panics.
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

// readList reads a list of figures that others published.
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

// figures returns the device's numbers by name.
func (d *Device) figures() map[string]float64 {
	return map[string]float64{
		"units": float64(d.Units), "memory": float64(d.Memory), "cache": float64(d.Cache),
		"shared": float64(d.Shared), "bandwidth": d.Bandwidth, "bf16": d.BF16, "fp16": d.FP16,
	}
}

// find returns the source of a figure, or the arithmetic behind it, and the number of sources
// found.
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

// check refuses an entry that lacks a figure or has a figure without exactly one source.
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

// read parses the table and refuses an entry that lacks a figure or a source.
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

// Lookup finds a GPU by the name that its driver reports, such as "AMD Instinct MI300X OAM" or
// "NVIDIA H200". It returns false if the table lacks the GPU.
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

// Attributes are the figures that the driver reports for a device that the table lacks.
type Attributes struct {
	Name, Arch string
	Units      int
	// MemoryClock is in Hz, BusWidth is in bits, and L2 and Shared are in bytes.
	MemoryClock float64
	BusWidth    int
	L2, Shared  int64
}

// ByAttributes computes the memory bandwidth of a GPU that the table lacks: clock × 2 × bus width /
// 8, assuming two transfers per clock. The result is marked Computed, because it can be wrong. For
// example, MI300X reports 1.3 GHz and 8,192 bits, which gives half of the published peak. The
// reason is that this memory makes four transfers per reported clock. Matrix rates are 0, because
// no attribute gives them.
func ByAttributes(a Attributes) Device {
	return Device{
		Name: a.Name, Arch: a.Arch, Units: a.Units, Cache: a.L2, Shared: a.Shared,
		Bandwidth: a.MemoryClock * 2 * float64(a.BusWidth) / 8,
		Source:    "memory clock × 2 × bus width of the driver's attributes; may be off by a factor of two", Computed: true,
	}
}
