package native

/*
#include "c/dl.h"
*/
import "C"

import "zbench/bench/backend"

// Listed is the number of functions of the symbol list that a backend's library
// of this role should have.
func Listed(of string, role Role) int {
	v, known := backend.Of(of)
	n := 0
	for i := range C.zb_symbol_count() {
		if known && C.zb_symbol_at(i).library[v.Column] == kinds[role] {
			n++
		}
	}
	return n
}
