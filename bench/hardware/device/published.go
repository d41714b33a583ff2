package device

import (
	_ "embed"
	"fmt"
	"sync"

	"zbench/bench/base/slice"
)

// Published is a figure that others published for a kind of device.
type Published struct {
	// Device is the name in bench/hardware/device.
	Device string `yaml:"device"`
	Tool   string `yaml:"tool"`
	// Rates are in bytes per second, by stream kernel.
	Rates  map[string]float64 `yaml:"rates"`
	Source string             `yaml:"source"`
	Date   string             `yaml:"date"`
}

//go:embed data/published.yaml
var publishedText []byte

// published is the data file, read on first use.
var published = sync.OnceValue(func() []Published { return must(readList[Published](publishedText)) })

func (p Published) check() error {
	if p.Device == "" || p.Tool == "" || p.Source == "" || p.Date == "" || len(p.Rates) == 0 {
		return fmt.Errorf("an entry of %q lacks its tool, rates, source or date", p.Device)
	}
	for kernel, rate := range p.Rates {
		if !(rate > 1e9 && rate < 1e14) {
			return fmt.Errorf("%s %s: %g is no rate in bytes per second", p.Device, kernel, rate)
		}
	}
	return nil
}

// PublishedFor returns the figures that others published for a device.
func PublishedFor(device string) []Published {
	return slice.Where(published(), func(p Published) bool { return p.Device == device })
}
