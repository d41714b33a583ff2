package plain

import "strings"

// Part is a part of a sentence: words, or a command line between backticks.
type Part struct {
	Code bool
	Text string
}

// Parts divides a sentence at the backticks around its commands. If the backticks do not enclose
// commands, as in text from other programs, the whole sentence is one part of words.
func Parts(text string) []Part {
	texts := strings.Split(text, "`")
	words := len(texts)%2 == 0
	for i, t := range texts {
		words = words || i%2 == 1 && (t == "" || strings.ContainsAny(t, "|<\\\r\n"))
	}
	if words {
		return []Part{{Text: text}}
	}
	var all []Part
	for i, t := range texts {
		if t != "" {
			all = append(all, Part{i%2 == 1, t})
		}
	}
	return all
}
