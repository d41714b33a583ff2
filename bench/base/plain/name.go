package plain

import "fmt"

// MaxName is the most bytes of a name: of a host, a GPU, a library, a case. A host's has at most
// 253, the key of a case a few hundred. A longer text would widen every table.
const MaxName = 4 << 10

// Name refuses a text that is too long for a name; where is its place in the error.
func Name(where, text string) error {
	if len(text) <= MaxName {
		return nil
	}
	return fmt.Errorf("%s has %d bytes; a name has at most %d", where, len(text), MaxName)
}
