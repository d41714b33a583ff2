package device

// unitsOfDie are the compute units that each die of an architecture has, by the
// compute capability that HIP gives: 304 on MI300X's eight dies (XCDs) and 228 on
// MI300A's six are 38 each for gfx942, 256 on MI355X's eight are 32 for gfx950 (AMD
// GPU specifications). A partition has whole dies.
var unitsOfDie = map[[2]int]int{{9, 4}: 38, {9, 5}: 32}

// Dies is how many dies a device deals its blocks to in turn. told is what the
// driver says, 0 where it does not: HIP before 7.0. Then it follows from the compute
// units, and is 1 for a device whose units are not whole dies of that kind. A device
// of gfx90a is one die, and NVIDIA's are taken as one.
func Dies(told, major, minor, units int) int {
	if told > 0 {
		return told
	}
	if each := unitsOfDie[[2]int{major, minor}]; each > 0 && units%each == 0 {
		return max(1, units/each)
	}
	return 1
}
