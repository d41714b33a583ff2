package plain

import (
	"fmt"
	"strings"
)

// Plural is the plural of an English noun: nodes, processes, batches.
func Plural(noun string) string {
	if strings.HasSuffix(noun, "s") || strings.HasSuffix(noun, "ch") {
		return noun + "es"
	}
	return noun + "s"
}

// Count is a number of things: "1 node", "16 nodes".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %s", n, Plural(noun))
}
