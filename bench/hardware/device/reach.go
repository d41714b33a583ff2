package device

import (
	_ "embed"
	"fmt"
	"sync"

	"zbench/bench/base/slice"
)

// Reach is the rate of matrix products that others measured on a kind of device.
type Reach struct {
	// Device is the name in bench/hardware/device, and Dtype is zbench's name of the element type.
	Device string `yaml:"device"`
	Dtype  string `yaml:"dtype"`
	// Rate is in FLOP/s. Clock is the clock of the compute units under that load, in Hz; 0 if the
	// source does not state it.
	Rate  float64 `yaml:"rate"`
	Clock float64 `yaml:"clock"`
	// Shape is the measured product in the form of zbench gemm --mnk; empty if the source does not
	// state it.
	Shape  string `yaml:"shape"`
	Source string `yaml:"source"`
	Date   string `yaml:"date"`
}

//go:embed data/reachable.yaml
var reachText []byte

var reaches = sync.OnceValue(func() []Reach { return must(readList[Reach](reachText)) })

func (r Reach) check() error {
	if r.Device == "" || r.Dtype == "" || r.Source == "" || r.Date == "" || !(r.Rate > 1e12 && r.Rate < 1e17) || !(r.Clock >= 0 && r.Clock < 1e10) {
		return fmt.Errorf("an entry of %q lacks its type, rate, source or date", r.Device)
	}
	return nil
}

// PeakOf returns the published dense rate of matrix products in FLOP/s, or 0 if it is unknown. name
// is the device name that the driver reports.
func PeakOf(name, dtype string) float64 {
	d, _ := Lookup(name)
	return map[string]float64{"bfloat16": d.BF16, "float16": d.FP16}[dtype]
}

// PointsOf returns the shapes with which others measured their highest rates. name is the device
// name that the driver reports.
func PointsOf(name string) (shapes []string) {
	d, known := Lookup(name)
	own := slice.Where(reaches(), func(r Reach) bool { return known && r.Device == d.Name && r.Shape != "" })
	return slice.Distinct(slice.Map(own, func(r Reach) string { return r.Shape }))
}

// ReachOf returns the rate that others measured, or false if there is none. name is the device name
// that the driver reports.
func ReachOf(name, dtype string) (Reach, bool) {
	d, known := Lookup(name)
	for _, r := range reaches() {
		if known && r.Device == d.Name && r.Dtype == dtype {
			return r, true
		}
	}
	return Reach{}, false
}
