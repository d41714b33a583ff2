package plain

import "strings"

// Sentence begins a clause with a capital and ends it with a full stop.
func Sentence(clause string) string {
	if clause == "" {
		return ""
	}
	return strings.ToUpper(clause[:1]) + clause[1:] + "."
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
func OrUnnamed(s string) string {
	if s == "" {
		return "(unnamed)"
	}
	return s
}
