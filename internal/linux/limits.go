package linux

import (
	"strconv"
	"strings"
)

// Names of lines in /proc/self/limits.
const (
	LockedMemory = "Max locked memory"
	OpenFiles    = "Max open files"
)

// Limit finds the soft limit of that name in the text of /proc/self/limits, -1 for
// unlimited. Memory is in bytes.
func Limit(limits, name string) (n int64, found bool) {
	for line := range strings.Lines(limits) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok {
			continue
		}
		fields := strings.Fields(rest)
		if len(fields) == 0 {
			return 0, false
		}
		if fields[0] == "unlimited" {
			return -1, true
		}
		n, err := strconv.ParseInt(fields[0], 10, 64)
		return n, err == nil && n >= 0
	}
	return 0, false
}

// SharedSize finds the size option of /dev/shm in /proc/mounts, in bytes. A
// mount without one has half of the memory.
func SharedSize(mounts string) (bytes int64, found bool) {
	for line := range strings.Lines(mounts) {
		fields := strings.Fields(line)
		if len(fields) < 4 || fields[1] != "/dev/shm" {
			continue
		}
		found = false
		for option := range strings.SplitSeq(fields[3], ",") {
			value, ok := strings.CutPrefix(option, "size=")
			if !ok {
				continue
			}
			bytes, found = mountSize(value)
		}
	}
	return bytes, found
}

func mountSize(value string) (int64, bool) {
	scale := int64(1)
	if n := len(value); n > 0 {
		if i := strings.IndexByte("kmg", value[n-1]); i >= 0 {
			scale, value = 1<<(10*(i+1)), value[:n-1]
		}
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/scale {
		return 0, false
	}
	return n * scale, true
}
