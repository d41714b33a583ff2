package topo

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Address is a PCI address.
type Address struct {
	Domain                uint32
	Bus, Device, Function uint8
}

// ParseAddress reads an address such as 0000:0c:00.0, with or without the domain.
func ParseAddress(text string) (Address, bool) {
	var a Address
	parts := strings.Split(strings.TrimSpace(text), ":")
	if len(parts) == 2 {
		parts = append([]string{"0000"}, parts...)
	}
	if len(parts) != 3 {
		return a, false
	}
	slot, function, ok := strings.Cut(parts[2], ".")
	if !ok {
		return a, false
	}
	var values [4]uint64
	for i, part := range []struct {
		text string
		bits int
		most uint64
	}{{parts[0], 32, 1<<32 - 1}, {parts[1], 8, 0xff}, {slot, 8, 0x1f}, {function, 8, 7}} {
		v, err := strconv.ParseUint(part.text, 16, part.bits)
		if err != nil || v > part.most {
			return Address{}, false
		}
		values[i] = v
	}
	return Address{uint32(values[0]), uint8(values[1]), uint8(values[2]), uint8(values[3])}, true
}

// String returns the address as sysfs writes it.
func (a Address) String() string {
	return fmt.Sprintf("%04x:%02x:%02x.%x", a.Domain, a.Bus, a.Device, a.Function)
}

// Card returns the address with function 0.
func (a Address) Card() Address {
	a.Function = 0
	return a
}

func (a Address) compare(b Address) int {
	return cmp.Or(cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.Bus, b.Bus), cmp.Compare(a.Device, b.Device), cmp.Compare(a.Function, b.Function))
}

// compareAddresses orders PCI addresses that are given as texts. Invalid ones come last.
func compareAddresses(a, b string) int {
	x, okX := ParseAddress(a)
	y, okY := ParseAddress(b)
	switch {
	case okX && okY:
		return x.compare(y)
	case okX:
		return -1
	case okY:
		return 1
	}
	return cmp.Compare(a, b)
}

// located() returns the address of KFD's location_id (bus << 8 | device << 3 | function) in a
// domain.
func located(domain, id uint64) Address {
	return Address{uint32(domain & 0xffffffff), uint8(id >> 8 & 0xff), uint8(id >> 3 & 0x1f), uint8(id & 7)}
}
