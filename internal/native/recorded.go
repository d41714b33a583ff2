package native

/*
#include "c/dl.h"
#include "c/recorded.h"
*/
import "C"

// Recording records the calls of a provider, by the names of their rows, for tests.
type Recording struct {
	// AsVendor removes the rows that only the loopback has, so that the provider looks like a
	// vendor's library.
	AsVendor bool
}

// record starts recording the provider's calls.
func (p *Provider) record(r *Recording) {
	if r == nil {
		return
	}
	if r.AsVendor {
		C.zbr_as_vendor(p.table)
		p.Simulated = false
	}
	C.zbr_record(p.table)
}

// TakeRecorded returns the calls since the previous TakeRecorded, in order. Polls that found
// unfinished work are left out.
func TakeRecorded() []string {
	out := make([]string, int(C.zbr_count()))
	for i := range out {
		out[i] = C.GoString(C.zbr_at(C.int(i)))
	}
	C.zbr_forget()
	return out
}

// LoopbackRows returns the rows of the symbol list that only the loopback has.
func LoopbackRows() (names []string) {
	for i := range C.zb_symbol_count() {
		if s := C.zb_symbol_at(i); s.library[C.ZB_ROCM] == C.ZB_LOOPBACK {
			names = append(names, C.GoString(s.field))
		}
	}
	return names
}
