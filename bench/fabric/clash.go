package fabric

import "fmt"

// one names what a machine has at most one of: the loopback would take the last
// and forget the others, which the record would still name.
var one = map[string]string{
	"hang": "a hang", "async_error": "an asynchronous error", "dip": "a dip", "flaky_link": "a flaky link", "noise": "noise",
	"missing_rank": "wrong data", "doubled_rank": "wrong data", "swapped_blocks": "wrong data", "stale_buffer": "wrong data", "corrupt": "wrong data",
}

// place is what a fault breaks, so that no other can break it too. How late a GPU
// is adds up with how late its node is.
func (f Fault) place(v faultValues) string {
	switch f.Name {
	case "slow_rail", "dead_rail":
		return fmt.Sprintf("rail %g of node %g", v["rail"], v["node"])
	case "slow_leaf":
		return fmt.Sprintf("the leaf switch of rail %g", v["rail"])
	case "slow_link":
		return fmt.Sprintf("the link of GPUs %g and %g of node %g", min(v["a"], v["b"]), max(v["a"], v["b"]), v["node"])
	case "late_gpu":
		return fmt.Sprintf("late GPU %g of node %g", v["gpu"], v["node"])
	case "late_node":
		return fmt.Sprintf("late node %g", v["node"])
	}
	return one[f.Name]
}

// clash tells that an earlier fault has the place already.
func (d *damage) clash(text, place string) error {
	if other, taken := d.taken[place]; taken {
		return fmt.Errorf("%s is planted already, by %q: leave one of the two out", place, other)
	}
	if d.taken == nil {
		d.taken = map[string]string{}
	}
	d.taken[place] = text
	return nil
}
