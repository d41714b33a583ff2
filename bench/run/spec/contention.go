package spec

import (
	"fmt"
	"strconv"
	"strings"
)

// Contention is the mutual slowdown of computation and messages.
type Contention struct {
	// How much longer computation takes while a message is on the network, as a share.
	Compute float64 `json:"compute" jsonschema:"maximum=10"`
	// Ratio of the time of messages beside computation to their time alone.
	Messages float64 `json:"messages" jsonschema:"minimum=0.5,maximum=10"`
}

// ParseContention reads SHARE,TIMES, such as 0.2,1.05.
func ParseContention(text string) (*Contention, error) {
	share, times, _ := strings.Cut(text, ",")
	compute, err := strconv.ParseFloat(strings.TrimSpace(share), 64)
	messages, failed := strconv.ParseFloat(strings.TrimSpace(times), 64)
	c := &Contention{Compute: compute, Messages: messages}
	if err != nil || failed != nil || !c.Possible() {
		return nil, fmt.Errorf("%q is not SHARE,TIMES, such as 0.2,1.05: a share of 0 to 10, and 0.5 to 10 times", text)
	}
	return c, nil
}

// Possible reports whether both values are within the limits of a request.
func (c *Contention) Possible() bool {
	return c.Compute >= 0 && c.Compute <= 10 && c.Messages >= 0.5 && c.Messages <= 10
}

// String returns the text that ParseContention reads, with all digits; empty for nil.
func (c *Contention) String() string {
	if c == nil {
		return ""
	}
	return strconv.FormatFloat(c.Compute, 'g', -1, 64) + "," + strconv.FormatFloat(c.Messages, 'g', -1, 64)
}
