package hbm

// elementsPerThread is how many elements of a row a thread has in registers where
// rows are whole vectors.
const elementsPerThread = 32

// way is how threads share a row, and how many rows a block takes. Where threads
// may be few, no more share a row than hold all of it, so that each loads as much
// at once as it can: two waves at the least.
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

// wide is 1 where rows are whole vectors of 16 bytes.
func (c NormCase) wide() int {
	if c.Hidden*c.Type.Bytes%vector == 0 {
		return 1
	}
	return 0
}
