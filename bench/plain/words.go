package plain

import (
	"cmp"
	"fmt"
	"strings"
)

// Sentence begins a clause with a capital and ends it with a full stop.
func Sentence(clause string) string {
	if clause == "" {
		return ""
	}
	return Capital(clause) + "."
}

// Capital begins a text with a capital letter.
func Capital(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// Lower begins a text with a small letter.
func Lower(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// OrUnnamed returns a name, or what stands for none.
func OrUnnamed(s string) string { return cmp.Or(s, "(unnamed)") }

// And joins words as one says them: a, b and c.
func And(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// Clip shortens s to n characters, of which an ellipsis is then the last.
func Clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:max(n-1, 0)]) + "…"
}

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
