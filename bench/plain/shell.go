package plain

import "strings"

// bare are the characters that a POSIX shell takes as they are, at the beginning of a word too.
const bare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%^"

// Shell is words as one line for a shell, which reads back the same words.
func Shell(words ...string) string {
	out := make([]string, len(words))
	for i, w := range words {
		if out[i] = w; w == "" || strings.Trim(w, bare) != "" {
			out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

// Typed is a command line in a sentence: between backticks, so that its reader sees where it
// begins and ends, a page sets it as code, and a test finds and runs it.
func Typed(words ...string) string { return "`" + Shell(words...) + "`" }
