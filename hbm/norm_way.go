package hbm

// elementsPerThread is the number of elements that a thread holds in registers, if rows are whole
// vectors.
const elementsPerThread = 32

// way returns the variant of the kernel, the threads per block, and the rows per block. If `few` is
// true, a row gets only as many threads as are needed to hold it, at least two waves, so that each
// thread loads as much at once as possible.
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

// wide() returns 1 if a row is a whole number of 16-byte vectors, else 0.
func (c NormCase) wide() int {
	if c.Hidden*c.Type.Bytes%vector == 0 {
		return 1
	}
	return 0
}
