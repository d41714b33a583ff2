package fabric

import "fmt"

// leafNodes are the nodes behind a leaf, from and to: all of the world without a number.
func leafNodes(v faultValues, nodes int) (from, to int) {
	each, given := v["nodes"]
	if !given {
		return 0, nodes
	}
	from = int(v["leaf"]) * int(each)
	return from, min(from+int(each), nodes)
}

func plantLeaf(v faultValues, m *Machine, d *damage) error {
	if each, given := v["nodes"]; given {
		if each < 1 || each > float64(m.Nodes) || each != float64(int(each)) {
			return fmt.Errorf("nodes is 1 to %d", m.Nodes)
		}
		if last := (m.Nodes - 1) / int(each); v["leaf"] > float64(last) || v["leaf"] != float64(int(v["leaf"])) {
			return fmt.Errorf("leaf is 0 to %d", last)
		}
	}
	from, to := leafNodes(v, m.Nodes)
	for node := from; node < to; node++ {
		d.slow(node, int(v["rail"]), v["left"])
	}
	return nil
}

// leafPlace is a leaf switch of a rail, or all of them.
func leafPlace(v faultValues) string {
	if each, given := v["nodes"]; given {
		return fmt.Sprintf("leaf switch %g of rail %g with %g nodes each", v["leaf"], v["rail"], each)
	}
	return fmt.Sprintf("the leaf switch of rail %g", v["rail"])
}
