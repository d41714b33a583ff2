package device

// unitsOfDie gives the compute units per die of an architecture, by the compute capability that HIP
// reports. 304 units on MI300X's eight dies (XCDs) and 228 on MI300A's six are 38 each for gfx942;
// 256 on MI355X's eight are 32 for gfx950 (AMD GPU specifications). A partition has whole dies.
var unitsOfDie = map[[2]int]int{{9, 4}: 38, {9, 5}: 32}

// Dies returns the number of dies to which a device deals its blocks in turn. told is the driver's
// figure, 0 if it has none (HIP before 7.0). Then the number follows from the compute units, and is
// 1 if the units do not fill whole dies. A device of gfx90a is one die, and NVIDIA's are treated as
// one.
func Dies(told, major, minor, units int) int {
	if told > 0 {
		return told
	}
	if each := unitsOfDie[[2]int{major, minor}]; each > 0 && units%each == 0 {
		return max(1, units/each)
	}
	return 1
}
