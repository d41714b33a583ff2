// Package seal adds and removes the checksums of a journal's lines.
package seal

import (
	"fmt"
	"regexp"
	"strings"

	"zbench/bench/base/pattern"
)

var (
	sum = regexp.MustCompile(`(,"run":"[0-9a-f]{32}")?,"crc32c":"[0-9a-f]{8}"}$`)
	run = pattern.New(`"run":"[0-9a-f]{32}"`)
)

// Without returns the text of a journal without the run ids and checksums of its lines.
func Without(text string) string {
	return eachLine(text, func(object string) string { return object })
}

// Of returns the text of a journal with correct checksums, for example after a change. If the first
// line has a run id, all lines get this id. It does not change lines that are not objects, or empty
// objects.
func Of(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	of := run.FindString(first)
	if of != "" {
		of = "," + of
	}
	return eachLine(text, func(object string) string {
		body, ok := strings.CutSuffix(object, "}")
		if !ok || !strings.HasPrefix(object, "{") || body == "{" {
			return object
		}
		return fmt.Sprintf(`%s%s,"crc32c":"%08x"}`, body, of, crc32c(body+of))
	})
}

func eachLine(text string, change func(object string) string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		object, whole := strings.CutSuffix(line, "\n")
		if !whole {
			b.WriteString(line)
			continue
		}
		if at := sum.FindStringIndex(object); at != nil {
			object = object[:at[0]] + "}"
		}
		b.WriteString(change(object) + "\n")
	}
	return b.String()
}

// crc32c returns the checksum of RFC 3720, computed bit by bit.
func crc32c(text string) uint32 {
	rest := ^uint32(0)
	for i := range len(text) {
		rest ^= uint32(text[i])
		for range 8 {
			rest = rest>>1 ^ 0x82f63b78*(rest&1)
		}
	}
	return ^rest
}
