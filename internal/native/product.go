package native

/*
#include "c/dl.h"
*/
import "C"

// Product is the software that contains a backend's libraries, for a remedy; empty for
// the loopback.
func Product(backend string) string { return vendors[backend].product }

// Listed is the number of functions of the symbol list that a backend's library
// of this role should have.
func Listed(backend string, role Role) int {
	n := 0
	for _, row := range vendors[backend].libraries {
		for i := range C.zb_symbol_count() {
			if row.role == role && C.zb_symbol_at(i).library[vendors[backend].column] == row.kind {
				n++
			}
		}
	}
	return n
}
