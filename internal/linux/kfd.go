package linux

import (
	"fmt"
	"strconv"
	"strings"
)

// KFDGPU is a GPU in the kernel's compute topology.
type KFDGPU struct{ Arch, PCI string }

// KFDProperties reads lines of a name and a number.
func KFDProperties(text string) map[string]int64 {
	values := map[string]int64{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) != 2 {
			continue
		}
		if n, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
			values[fields[0]] = n
		}
	}
	return values
}

// ParseKFD reads a node's properties: gfx_target_version is major·10000 +
// minor·100 + stepping, location_id is bus, device and function of the PCI
// address. A CPU has no target version.
func ParseKFD(text string) (KFDGPU, bool) {
	p := KFDProperties(text)
	version := p["gfx_target_version"]
	if version <= 0 {
		return KFDGPU{}, false
	}
	at := p["location_id"]
	return KFDGPU{
		Arch: fmt.Sprintf("gfx%d%x%x", version/10000, version/100%100, version%100),
		PCI:  fmt.Sprintf("%04x:%02x:%02x.%x", p["domain"]&0xffffffff, at>>8&0xff, at>>3&0x1f, at&7),
	}, true
}
