package fabric

import "fmt"

// at is what a fault breaks, by its values, so that no other can break it too: of
// what names no place a machine has one, of which the loopback would take the last
// and the record name them all. How late a GPU is adds up with how late its node is.
func at(format string, keys ...string) func(faultValues) string {
	return func(v faultValues) string {
		values := make([]any, len(keys))
		for i, key := range keys {
			values[i] = v[key]
		}
		return fmt.Sprintf(format, values...)
	}
}

var railPlace = at("rail %g of node %g", "rail", "node")

// linkPlace is the same from either end.
func linkPlace(v faultValues) string {
	return fmt.Sprintf("the link of GPUs %g and %g of node %g", min(v["a"], v["b"]), max(v["a"], v["b"]), v["node"])
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
