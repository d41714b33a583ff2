package plain

import "fmt"

// MaxName is the largest number of bytes of a name of a host, GPU, library or case. Host names have
// at most 253 bytes, and keys of cases have a few hundred bytes. A longer name would widen every
// table.
const MaxName = 4 << 10

// Name returns an error if a text is too long for a name. The argument `where` says in the error
// what has the name.
func Name(where, text string) error {
	if len(text) <= MaxName {
		return nil
	}
	return fmt.Errorf("%s has %d bytes; a name has at most %d", where, len(text), MaxName)
}
