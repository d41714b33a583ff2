package muon

import (
	"fmt"
	"time"

	"zbench/bench/base/exit"
	method "zbench/bench/work/muon"
)

// emulatedRate is about one core's rate of emulated products, and referenceRate that of float64
// ones, in operations per second.
const (
	emulatedRate  = 3e9
	referenceRate = 4e9
	// maxEmulatedSeconds is the longest that an emulated check may take, in seconds.
	maxEmulatedSeconds = 60.0
)

// emulatedSeconds estimates a check on the loopback.
func emulatedSeconds(s method.Shape, c method.Coefficients) float64 {
	one, all := 0.0, 0.0
	for _, p := range method.Products() {
		one += p.Effective(s)
		all += p.Executed(s, p.Tile(s, 1), false) * float64(s.Batch)
	}
	steps := float64(len(c.Steps))
	references := 2.0 // exact and rounded, for the first and the last matrix
	if s.Short() < 64 {
		references = 10
	}
	return 2*steps*all/emulatedRate + 2*references*steps*one/referenceRate // all at once, and product by product
}

// standInSide is the longer side of a reduced shape that takes seconds.
const standInSide = 192

// CheckTime refuses shapes whose emulation exceeds maxEmulatedSeconds.
func CheckTime(shapes []method.Shape, c method.Coefficients, reduce int) error {
	total := 0.0
	for _, s := range shapes {
		if reduce != 0 {
			s = s.Reduced(reduce)
		}
		total += emulatedSeconds(s, c)
	}
	if total <= maxEmulatedSeconds {
		return nil
	}
	return exit.Usagef(fmt.Sprintf("run on a machine with a GPU; or check reduced shapes, in seconds: --reduce %d; or a smaller one: --shape %s", standInSide, SmallShape),
		"there is no GPU here: kernels are emulated, which times nothing and checks the results alone. These shapes would take about %s; the limit is %.0f s",
		(time.Duration(total) * time.Second).String(), maxEmulatedSeconds)
}

// SmallShape is the default without a model or a shape: seconds without a GPU.
const SmallShape = "256x512"
