package plain

import (
	"cmp"
	"fmt"
	"strings"
)

// Sentence capitalises a clause and ends it with a full stop.
func Sentence(clause string) string {
	if clause == "" {
		return ""
	}
	return Capital(clause) + "."
}

// Capital capitalises the first letter of a text.
func Capital(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// Lower puts the first letter of a text in lower case.
func Lower(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// OrUnnamed returns a name, or a placeholder for an empty name.
func OrUnnamed(s string) string { return cmp.Or(s, "(unnamed)") }

// And joins words for a sentence: a, b and c.
func And(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// Clip shortens s to n characters. A shortened text ends in an ellipsis.
func Clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:max(n-1, 0)]) + "…"
}

// Plural returns the plural of an English noun: nodes, processes, batches.
func Plural(noun string) string {
	if strings.HasSuffix(noun, "s") || strings.HasSuffix(noun, "ch") {
		return noun + "es"
	}
	return noun + "s"
}

// Count formats a number of things: "1 node", "16 nodes".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %s", n, Plural(noun))
}
