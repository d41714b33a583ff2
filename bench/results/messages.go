package results

import (
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/pattern"
)

// figureIn finds the figures in a message, each a size with its unit.
var figureIn = pattern.New(`\b(?:0x[0-9a-fA-F]+|\d+(?:[.,]\d+)*(?: (?:[KMGT]i)?B\b)?)`)

// messageGroups groups messages that differ only in their figures: a hundred cases with the same problem
// become one line with the range of the figures.
type messageGroups struct{ order []*messageGroup }

// messageGroup is one message with the figures of all its occurrences.
type messageGroup struct {
	topic string
	// The list `between` has the texts around the figures. It has one text more than there are figures.
	between []string
	lo, hi  []string
	count   int
}

// add adds a message to the group of its kind, and returns the group.
func (a *messageGroups) add(message string) *messageGroup { return a.addAs("", message) }

// addAs adds a message like add. Messages of different topics are in different groups.
func (a *messageGroups) addAs(topic, message string) *messageGroup {
	figures := figureIn.FindAllString(message, -1)
	between := figureIn.Split(message, -1)
	at := slices.IndexFunc(a.order, func(k *messageGroup) bool { return k.topic == topic && slices.Equal(k.between, between) })
	if at < 0 {
		at = len(a.order)
		a.order = append(a.order, &messageGroup{topic: topic, between: between, lo: figures, hi: slices.Clone(figures)})
	}
	k := a.order[at]
	k.count++
	for i, f := range figures {
		if figureOf(f) < figureOf(k.lo[i]) {
			k.lo[i] = f
		}
		if figureOf(f) > figureOf(k.hi[i]) {
			k.hi[i] = f
		}
	}
	return k
}

// text returns the message with the range of each figure.
func (k *messageGroup) text() string {
	var b strings.Builder
	for i, words := range k.between {
		b.WriteString(words)
		if i == len(k.lo) {
			break
		}
		switch lo, hi := k.lo[i], k.hi[i]; {
		case lo == hi:
			b.WriteString(lo)
		case strings.HasPrefix(lo, "0x"):
			b.WriteString("…") // bit patterns have no meaningful order
		default:
			b.WriteString(lo + " to " + hi)
		}
	}
	return b.String()
}

// figureOf returns a figure's value, for ordering; 0 if it is not a number.
func figureOf(s string) float64 {
	digits, size, _ := strings.Cut(s, " ")
	if bits, isHex := strings.CutPrefix(digits, "0x"); isHex {
		v, _ := strconv.ParseUint(bits, 16, 64)
		return float64(v)
	}
	v, _ := strconv.ParseFloat(strings.ReplaceAll(digits, ",", ""), 64)
	for _, prefix := range "KMGT" {
		if size == "" || size == "B" {
			break
		}
		v *= 1024
		if size[0] == byte(prefix) {
			break
		}
	}
	return v
}
