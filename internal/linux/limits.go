package linux

import (
	"strconv"
	"strings"
)

// The names of lines in /proc/self/limits.
const (
	LockedMemory = "Max locked memory"
	OpenFiles    = "Max open files"
)

// Limit returns the soft limit with the given name from the text of /proc/self/limits; −1 means
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
