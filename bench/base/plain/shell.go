package plain

import "strings"

// bare has the characters that a POSIX shell takes literally, even at the beginning of a word.
const bare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%^"

// Shell joins words into one line and quotes them so that a shell reads back the same words.
func Shell(words ...string) string {
	out := make([]string, len(words))
	for i, w := range words {
		if out[i] = w; w == "" || strings.Trim(w, bare) != "" {
			out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

// Typed returns a command line between backticks, for use in a sentence. The backticks show its
// beginning and end, a page shows it as code, and a test finds and runs it.
func Typed(words ...string) string { return "`" + Shell(words...) + "`" }
