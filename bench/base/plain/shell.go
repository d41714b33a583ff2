package plain

import "strings"

// bare are the characters that a POSIX shell takes literally, also at the beginning of a word.
const bare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%^"

// Shell quotes words as one line that a shell reads back as the same words.
func Shell(words ...string) string {
	out := make([]string, len(words))
	for i, w := range words {
		if out[i] = w; w == "" || strings.Trim(w, bare) != "" {
			out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

// Typed returns a command line for a sentence, between backticks: the reader sees its beginning and
// end, a page sets it as code, and a test finds and runs it.
func Typed(words ...string) string { return "`" + Shell(words...) + "`" }
