package unit

import (
	"fmt"
	"strings"
	"time"
)

// ParseSeconds reads a positive time with its unit (412ms, 1.5 s, 2m3s) and returns
// it in seconds.
func ParseSeconds(s string) (float64, error) {
	d, err := time.ParseDuration(strings.ReplaceAll(strings.TrimSpace(s), " ", ""))
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not a time above 0 with its unit (write 412ms or 1.5s)", s)
	}
	return d.Seconds(), nil
}
