package hbm

// elementsPerThread is the number of a row's elements in a thread's registers if rows are whole
// vectors.
const elementsPerThread = 32

// way returns how many threads share a row, and how many rows a block takes. If threads may be few,
// a row gets only as many as hold all of it, so that each loads as much at once as it can: at least
// two waves.
func (c NormCase) way(wave int64, few bool) (name string, block, rows int64) {
	switch {
	case c.Hidden <= 1024:
		return "wave", 256, 256 / wave
	case c.Hidden <= 8192:
		name, block = "block", 256
	default:
		name, block = "large", 1024
	}
	if few && c.wide() == 1 {
		for block > 2*wave && block/2*elementsPerThread >= c.Hidden {
			block /= 2
		}
	}
	return name, block, 1
}

// wide returns 1 if rows are whole vectors of 16 bytes.
func (c NormCase) wide() int {
	if c.Hidden*c.Type.Bytes%vector == 0 {
		return 1
	}
	return 0
}
