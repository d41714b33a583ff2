package muon

import (
	"fmt"
	"time"

	"zbench/bench/base/exit"
	method "zbench/bench/work/muon"
)

// Approximate rates in operations per second: emulatedRate for emulated products on one core,
// referenceRate for products in float64.
const (
	emulatedRate  = 3e9
	referenceRate = 4e9
	// maxEmulatedSeconds is the longest allowed emulated check, in seconds.
	maxEmulatedSeconds = 60.0
)

// emulatedSeconds estimates how long the check of a shape takes on the loopback, in seconds.
func emulatedSeconds(s method.Shape, c method.Coefficients) float64 {
	one, all := 0.0, 0.0
	for _, p := range method.Products() {
		one += p.Effective(s)
		all += p.Executed(s, p.Tile(s, 1), false) * float64(s.Batch)
	}
	steps := float64(len(c.Steps))
	references := 2.0 // an exact and a rounded reference, for the first and the last matrix
	if s.Short() < 64 {
		references = 10
	}
	return 2*steps*all/emulatedRate + 2*references*steps*one/referenceRate // the step runs whole, and again product by product
}

// standInSide is the longer side of a reduced shape, whose check takes seconds.
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

// SmallShape is the default if neither a model nor a shape is given. Without a GPU its check takes
// seconds.
const SmallShape = "256x512"
