package linux

import (
	"strconv"
	"strings"
)

// StatusField returns the value of a line of /proc/self/status, such as Cpus_allowed_list; "" if
// there is no such line.
func StatusField(status, name string) string {
	for line := range strings.Lines(status) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// maxCPUs is more CPUs than any host has. A longer list is invalid.
const maxCPUs = 1 << 16

// CountCPUs returns the number of CPUs in a list such as "0-47,96-143". Overlapping ranges count
// twice, but the kernel writes none.
func CountCPUs(list string) (n int, ok bool) {
	for part := range strings.SplitSeq(list, ",") {
		a, b, both := strings.Cut(part, "-")
		if !both {
			b = a
		}
		first, err := strconv.ParseUint(a, 10, 16)
		last, err2 := strconv.ParseUint(b, 10, 16)
		if err != nil || err2 != nil || last < first {
			return 0, false
		}
		if n += int(last-first) + 1; n > maxCPUs {
			return 0, false
		}
	}
	return n, true
}

// capIPCLock is the number of CAP_IPC_LOCK (capabilities(7)).
const capIPCLock = 14

// LocksFreely reports whether the effective capabilities include CAP_IPC_LOCK, so that the
// limit of locked memory does not apply. The argument is CapEff of /proc/self/status, in
// hexadecimal.
func LocksFreely(capabilities string) bool {
	set, err := strconv.ParseUint(capabilities, 16, 64)
	return err == nil && set>>capIPCLock&1 == 1
}

// Quota returns the CPU time that a cgroup allows, as a number of CPUs. The file cpu.max has the
// quota and the period in microseconds, or "max" and the period.
func Quota(cpuMax string) (cpus float64, limited bool) {
	fields := strings.Fields(cpuMax)
	if len(fields) != 2 {
		return 0, false
	}
	quota, err := strconv.ParseInt(fields[0], 10, 64)
	period, err2 := strconv.ParseInt(fields[1], 10, 64)
	if err != nil || err2 != nil || quota <= 0 || period <= 0 {
		return 0, false
	}
	return float64(quota) / float64(period), true
}

// PortRange is the range of local ports of a host's connections, both ends included.
type PortRange struct {
	Low  int `json:"low"`
	High int `json:"high"`
}

// Count returns the number of ports in the range.
func (r PortRange) Count() int { return r.High - r.Low + 1 }

// ParsePortRange reads the two numbers of /proc/sys/net/ipv4/ip_local_port_range.
func ParsePortRange(text string) (r PortRange, ok bool) {
	fields := strings.Fields(text)
	if len(fields) != 2 {
		return r, false
	}
	low, err := strconv.ParseUint(fields[0], 10, 16)
	high, err2 := strconv.ParseUint(fields[1], 10, 16)
	if err != nil || err2 != nil || low < 1 || high < low {
		return r, false
	}
	return PortRange{Low: int(low), High: int(high)}, true
}
