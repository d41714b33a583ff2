package record

// Bracket is the range of a launch's time in a model whose constants were not measured.
// All times are the model's, without noise, in seconds.
type Bracket struct {
	// Seconds is the time with the constants that were simulated, in seconds.
	Seconds float64 `json:"seconds" jsonschema:"exclusiveMinimum=0"`
	// Fastest is the time at the fast end of the model's bracket, in seconds.
	Fastest float64 `json:"fastest" jsonschema:"exclusiveMinimum=0"`
	// Slowest is the time at the slow end, in seconds.
	Slowest float64 `json:"slowest" jsonschema:"exclusiveMinimum=0"`
}

// Ends describes the assumptions of the two ends of a fabric's bracket, with sources.
type Ends struct {
	// Fastest says what the fast end assumes.
	Fastest string `json:"fastest"`
	// Slowest says what the slow end assumes.
	Slowest string `json:"slowest"`
	// Factor is how many times the model's fixed pipeline cost R of the slow end is that of
	// the fast end, for all_reduce of all ranks.
	Factor float64 `json:"factor" jsonschema:"minimum=1"`
}

// BusBWBounds are the bus bandwidths of a simulated result at the slow and at the
// fast end of its model, in bytes per second; false where the result has no bus
// bandwidth or its model no bracket.
func (r *Result) BusBWBounds() (lo, hi float64, ok bool) {
	b := r.Bracket
	if b == nil || r.BusBW == nil || !(b.Seconds > 0 && b.Fastest > 0 && b.Slowest > 0) {
		return 0, 0, false
	}
	return *r.BusBW * b.Seconds / b.Slowest, *r.BusBW * b.Seconds / b.Fastest, true
}
