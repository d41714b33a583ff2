package device

// unitsOfDie gives the compute units per die of an architecture, by the compute capability that HIP
// reports. For gfx942, MI300X has 304 units on eight dies (XCDs) and MI300A has 228 on six, which
// is 38 per die. For gfx950, MI355X has 256 units on eight dies, which is 32 per die (AMD GPU
// specifications). A partition has whole dies.
var unitsOfDie = map[[2]int]int{{9, 4}: 38, {9, 5}: 32}

// Dies returns the number of dies to which a device deals its blocks in turn. told is the number
// that the driver reports, or 0 if the driver does not report one (HIP before 7.0). In that case
// Dies divides the compute units by the units per die, and returns 1 if that leaves a remainder. A
// device of gfx90a has one die; NVIDIA's devices are treated as one die.
func Dies(told, major, minor, units int) int {
	if told > 0 {
		return told
	}
	if each := unitsOfDie[[2]int{major, minor}]; each > 0 && units%each == 0 {
		return max(1, units/each)
	}
	return 1
}
