package schematest

import (
	"fmt"
	"strings"

	"zbench/bench/pattern"
)

var seal = pattern.New(`,"crc32c":"[0-9a-f]{8}"}$`)

// Unsealed is a journal's text without the checksums of its lines.
func Unsealed(text string) string {
	return eachLine(text, func(object string) string { return object })
}

// Sealed is a journal's text with the checksums that its lines must have, after a
// change or where they had none. Lines that are no objects, or empty ones, stay as they are.
func Sealed(text string) string {
	return eachLine(text, func(object string) string {
		body, ok := strings.CutSuffix(object, "}")
		if !ok || !strings.HasPrefix(object, "{") || body == "{" {
			return object
		}
		return fmt.Sprintf(`%s,"crc32c":"%08x"}`, body, crc32c(body))
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
		if at := seal.FindStringIndex(object); at != nil {
			object = object[:at[0]] + "}"
		}
		b.WriteString(change(object) + "\n")
	}
	return b.String()
}

// crc32c is RFC 3720's checksum, bit by bit.
func crc32c(text string) uint32 {
	sum := ^uint32(0)
	for i := range len(text) {
		sum ^= uint32(text[i])
		for range 8 {
			sum = sum>>1 ^ 0x82f63b78*(sum&1)
		}
	}
	return ^sum
}
