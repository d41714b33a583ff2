package linux

import (
	"strconv"
	"strings"

	"zbench/bench/run/record"
)

// Sense reads power and temperatures of the GPU at a PCI address from amdgpu's hwmon files
// (docs.kernel.org, gpu/amdgpu/thermal). The files have microwatts and thousandths of a degree;
// the temperatures are labelled edge, junction and mem. Values without a file stay zero.
func (t Tree) Sense(pci string) record.Conditions {
	var c record.Conditions
	for _, folder := range t.Names("sys/bus/pci/devices/"+strings.ToLower(pci)+"/hwmon", "hwmon*") {
		reading := func(file string, scale float64) float64 {
			v, err := strconv.ParseInt(t.Read(folder+"/"+file), 10, 64)
			if err != nil {
				return 0
			}
			return max(0, float64(v)/scale)
		}
		if c.Power = reading("power1_average", 1e6); c.Power == 0 { // newer GPUs have only power1_input
			c.Power = reading("power1_input", 1e6)
		}
		c.PowerLimit = reading("power1_cap", 1e6)
		for _, label := range t.Names(folder, "temp*_label") {
			degrees := reading(strings.TrimSuffix(label[len(folder)+1:], "label")+"input", 1e3)
			if t.Read(label) == "mem" {
				c.MemoryTemperature = degrees
			} else {
				c.Temperature = max(c.Temperature, degrees)
			}
		}
	}
	return c
}
