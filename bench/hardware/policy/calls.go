package policy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Calls says how a sweep calls the libraries, besides the arguments of its collectives. The zero
// Calls launches one by one, waits at the end of a burst, and asks for nothing special.
type Calls struct {
	// GraphLaunches is the number of times that a burst's launches, captured into a graph, are replayed;
	// absent if they are launched one by one.
	GraphLaunches int `json:"graph_launches,omitempty" jsonschema:"minimum=1"`
	// Launches of a burst that are in one group (-m); absent for 1. A burst then has -n groups.
	Aggregate int `json:"aggregate,omitempty" jsonschema:"minimum=1"`
	// Blocking is 1 if the host waits for each launch or group of a burst and then meets the other
	// hosts, 2 if it only waits (-z); absent if it waits at the end of the burst.
	Blocking int `json:"blocking,omitempty" jsonschema:"minimum=1,maximum=2"`
	// Communicators are made by non-blocking calls (--nonblocking).
	NonBlocking bool `json:"nonblocking,omitempty"`
	// MemoryType is fine for fine-grained buffers (--memory_type); absent for coarse-grained ones.
	MemoryType string `json:"memory_type,omitempty"`
	// CUMask has a bit for each compute unit that the ranks' streams may use: hexadecimal words of 32
	// bits, separated by commas, the lowest first (--cumask); absent for all units.
	CUMask string `json:"cu_mask,omitempty"`
}

// Coarse and Fine are the values of --memory_type.
const (
	Coarse = "coarse"
	Fine   = "fine"
)

// maxMaskWords limits a mask to 1,024 compute units, more than any GPU has.
const maxMaskWords = 32

// ReadMask checks a mask of compute units, and writes it in one form.
func ReadMask(text string) (string, error) {
	var words []string
	for word := range strings.SplitSeq(text, ",") {
		word = strings.ToLower(strings.TrimSpace(word))
		n, err := strconv.ParseUint(strings.TrimPrefix(word, "0x"), 16, 32)
		if err != nil {
			return "", fmt.Errorf("%q is not a hexadecimal word of 32 bits", word)
		}
		words = append(words, fmt.Sprintf("%08x", n))
	}
	switch {
	case len(words) > maxMaskWords:
		return "", fmt.Errorf("a mask of %d words: at most %d", len(words), maxMaskWords)
	case strings.Trim(strings.Join(words, ""), "0") == "":
		return "", errors.New("the mask selects no compute unit")
	}
	return strings.Join(words, ","), nil
}

// Mask returns the words of a mask that ReadMask wrote; nil for all units.
func (c Calls) Mask() (words []uint32) {
	for word := range strings.SplitSeq(c.CUMask, ",") {
		if n, err := strconv.ParseUint(word, 16, 32); err == nil {
			words = append(words, uint32(n))
		}
	}
	return words
}

// CheckCalls reports an invalid value or combination. policies are those of the sweep.
func (c Calls) CheckCalls(policies []Policy) error {
	mask, err := c.CUMask, error(nil)
	if mask != "" {
		mask, err = ReadMask(mask)
	}
	registered := slices.ContainsFunc(policies, func(p Policy) bool { return p.Register != "" })
	switch {
	case err != nil || mask != c.CUMask:
		return fmt.Errorf("cu_mask is %q, not words of eight hexadecimal digits", c.CUMask)
	case c.Aggregate < 0:
		return fmt.Errorf("launches of a group (-m) must be at least 1, not %d", c.Aggregate)
	case c.Blocking < 0 || c.Blocking > 2:
		return fmt.Errorf("-z must be 0, 1 or 2, not %d", c.Blocking)
	case c.Blocking > 0 && c.GraphLaunches > 0:
		return errors.New("-z and -G exclude each other: a replayed graph does not wait between its launches")
	case c.MemoryType != "" && c.MemoryType != Fine:
		return fmt.Errorf("memory_type is %q: valid is %s", c.MemoryType, Fine)
	case c.MemoryType == Fine && registered:
		return errors.New("--memory_type fine and --register exclude each other: the library allocates the buffers that it registers")
	}
	return nil
}

// calling is a way of calling: its flag and value as words, what it adds to a case's key if it
// changes the times, and the symbols that it needs.
type calling struct {
	words, key, flag string
	needs            []string
}

func (c Calls) callings() (all []calling) {
	add := func(asked bool, words, key, flag string, needs ...string) {
		if asked {
			all = append(all, calling{words, key, flag, needs})
		}
	}
	add(c.GraphLaunches > 0, fmt.Sprintf("captured into a graph that is replayed %d times", c.GraphLaunches), fmt.Sprintf("/G%d", c.GraphLaunches),
		"-G", "streamBeginCapture", "streamEndCapture", "graphInstantiate", "graphLaunch", "graphExecDestroy", "graphDestroy")
	add(c.Aggregate > 1, fmt.Sprintf("%d launches in a group", c.Aggregate), fmt.Sprintf("/m%d", c.Aggregate), "-m")
	add(c.Blocking > 0, map[int]string{1: "host waits for each launch and meets the others", 2: "host waits for each launch"}[c.Blocking], fmt.Sprintf("/z%d", c.Blocking), "-z")
	add(c.NonBlocking, "non-blocking init", "", "--nonblocking", "commInitConfig", "commGetAsyncError")
	add(c.MemoryType == Fine, "fine-grained memory", "/fine", "--memory_type fine", "extMalloc")
	add(c.CUMask != "", "compute units "+c.CUMask, "/cu-"+strings.ReplaceAll(c.CUMask, ",", "-"), "--cumask", "streamWithMask")
	return all
}

// CallsText describes the calls; it returns empty text for the zero Calls. Its name and that of
// CheckCalls say what they are about, because a sweep embeds Calls.
func (c Calls) CallsText() string {
	var words []string
	for _, one := range c.callings() {
		words = append(words, one.words)
	}
	return strings.Join(words, ", ")
}

// Key returns what the calls add to the key of a case.
func (c Calls) Key() (key string) {
	for _, one := range c.callings() {
		key += one.key
	}
	return key
}

// Lacking returns the first flag that needs a symbol which has is false for, and that symbol; empty
// texts if there is none.
func (c Calls) Lacking(has func(symbol string) bool) (flag, symbol string) {
	for _, one := range c.callings() {
		for _, symbol := range one.needs {
			if !has(symbol) {
				return one.flag, symbol
			}
		}
	}
	return "", ""
}
