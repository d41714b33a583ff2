package record

// Bracket is the range of a launch's time in a model with unmeasured constants. All times come
// from the model, without noise, in seconds.
type Bracket struct {
	// Seconds is the time with the simulated constants, in seconds.
	Seconds float64 `json:"seconds" jsonschema:"exclusiveMinimum=0"`
	// Fastest is the time at the fast end of the model's bracket, in seconds.
	Fastest float64 `json:"fastest" jsonschema:"exclusiveMinimum=0"`
	// Slowest is the time at the slow end, in seconds.
	Slowest float64 `json:"slowest" jsonschema:"exclusiveMinimum=0"`
}

// Ends describes the assumptions of the two ends of a fabric's bracket, with sources.
type Ends struct {
	// Fastest describes the fast end's assumption.
	Fastest string `json:"fastest"`
	// Slowest describes the slow end's assumption.
	Slowest string `json:"slowest"`
	// Factor is the ratio of the model's fixed pipeline cost R at the slow end to that at the fast
	// end, for all_reduce of all ranks.
	Factor float64 `json:"factor" jsonschema:"minimum=1"`
}

// BusBWBounds returns the bus bandwidths of a simulated result at the slow and at the fast end of
// its model, in bytes per second; false if the result has no bus bandwidth or its model has no
// bracket.
func (r *Result) BusBWBounds() (lo, hi float64, ok bool) {
	b := r.Bracket
	if b == nil || r.BusBW == nil || !(b.Seconds > 0 && b.Fastest > 0 && b.Slowest > 0) {
		return 0, 0, false
	}
	return *r.BusBW * b.Seconds / b.Slowest, *r.BusBW * b.Seconds / b.Fastest, true
}
