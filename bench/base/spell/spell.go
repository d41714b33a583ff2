// Package spell finds a name in a table whatever its spelling, and suggests similar names if the
// table lacks it.
//
//	r, err := spell.Find("fabric", rows, given, func(r row) (string, []string) { return r.name, r.aliases })
package spell

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Key returns a name in lower case without the dashes, underscores and spaces between words.
// Between two digits one dash stays, so that llama3-8b differs from llama-38b.
func Key(name string) string {
	var key []rune
	parted := false
	for _, r := range strings.ToLower(name) {
		if r == '-' || r == '_' || unicode.IsSpace(r) {
			parted = true
			continue
		}
		if parted && len(key) > 0 && unicode.IsDigit(key[len(key)-1]) && unicode.IsDigit(r) {
			key = append(key, '-')
		}
		key, parted = append(key, r), false
	}
	return string(key)
}

// Index returns the index of the first row that has the given name in any spelling, or −1. names
// returns a row's own name and its aliases.
func Index[T any](rows []T, given string, names func(T) (own string, aliases []string)) int {
	for i, r := range rows { // every message looks names up, so the usual spelling is tried first
		if own, _ := names(r); own == given {
			return i
		}
	}
	key := Key(given)
	return slices.IndexFunc(rows, func(r T) bool {
		own, aliases := names(r)
		_, ok := match(aliases, key)
		return ok || Key(own) == key
	})
}

// Find returns the first row that has the given name in any spelling. The error is an [Unknown]
// with this kind.
func Find[T any](kind string, rows []T, given string, names func(T) (own string, aliases []string)) (row T, err error) {
	if i := Index(rows, given, names); i >= 0 {
		return rows[i], nil
	}
	unknown := &Unknown{Kind: kind, Given: given}
	for _, r := range rows {
		own, aliases := names(r)
		unknown.Valid, unknown.Aliases = append(unknown.Valid, own), append(unknown.Aliases, aliases...)
	}
	return row, unknown
}

// Own returns the table's spelling of a given name. The error is an [Unknown] with this kind.
func Own(kind string, names []string, given string) (string, error) {
	return Find(kind, names, given, func(name string) (string, []string) { return name, nil })
}

// Match returns the table's spelling of a given name, and false if the table lacks it.
func Match(names []string, given string) (string, bool) {
	return match(names, Key(given))
}

func match(names []string, key string) (string, bool) {
	for _, name := range names {
		if Key(name) == key {
			return name, true
		}
	}
	return "", false
}

// Unknown is the error about a name that a table lacks.
type Unknown struct {
	// Kind is the kind of name, such as collective or fabric.
	Kind string
	// Given is the name as the user wrote it.
	Given string
	// Valid lists the names that the message shows. Aliases lists other accepted names.
	Valid, Aliases []string
}

func (e *Unknown) Error() string {
	return fmt.Sprintf("unknown %s %.100q: valid are %s", e.Kind, e.Given, strings.Join(e.Valid, ", "))
}

// Near returns similar names; see [Near].
func (e *Unknown) Near() []string { return Near(e.Given, slices.Concat(e.Valid, e.Aliases)) }

const (
	// mostNear is the largest number of suggested names.
	mostNear = 3
	// leastPrefix is the smallest length at which the beginning of a name suggests the name.
	leastPrefix = 3
)

// Near returns similar names: the names with the fewest edits from the given one, if these are few
// for its length, and the names that begin with it. If there are more than three, it returns none,
// because that would be a guess.
func Near(given string, names []string) []string {
	key := Key(given)
	found := nearest(key, names)
	all := slices.Clone(found)
	for _, name := range names {
		other := Key(name)
		if _, twice := match(all, other); !twice && len(key) >= leastPrefix && strings.HasPrefix(other, key) {
			all = append(all, name)
		}
	}
	if len(all) <= mostNear {
		return all
	}
	if len(found) <= mostNear {
		return found
	}
	return nil
}

// nearest returns the names with the fewest edits from key.
func nearest(key string, names []string) (found []string) {
	least := -1
	for _, name := range names {
		other := []rune(Key(name))
		n, near := edits([]rune(key), other, allowed(len(other)))
		if !near || least >= 0 && n > least {
			continue
		}
		if n != least {
			least, found = n, nil
		}
		if _, twice := match(found, string(other)); !twice {
			found = append(found, name)
		}
	}
	return found
}

// allowed returns the number of edits allowed for a name of this length: one per three characters,
// at most three.
func allowed(length int) int { return min(length/3, 3) }

// edits returns the least number of insertions, deletions, substitutions and swaps of neighbours
// that turn one text into the other, if no part is edited twice (the optimal string alignment form
// of the Damerau–Levenshtein distance). It returns false if the number exceeds the argument most.
func edits(a, b []rune, most int) (int, bool) {
	if d := len(a) - len(b); d > most || -d > most {
		return 0, false
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range b {
			replaced := last[j]
			if a[i] != b[j] {
				replaced++
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, replaced)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)], row[len(b)] <= most
}

// Hint returns the user's next step: the similar names, or else other help.
func Hint(near []string, otherwise string) string {
	if len(near) == 0 {
		return otherwise
	}
	text := near[0]
	if n := len(near); n > 1 {
		text = strings.Join(near[:n-1], ", ") + " or " + near[n-1]
	}
	return strings.TrimSpace("did you mean " + text + "? " + otherwise)
}
