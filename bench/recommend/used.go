package recommend

// Used is a curve behind the answer, without its points.
type Used struct {
	// Collective is the name of the collective.
	Collective string `json:"collective"`
	// Ranks is the number of ranks of a message.
	Ranks int `json:"ranks"`
	// Groups is the number of communicators of this many ranks that ran at once.
	Groups int `json:"groups"`
	// Stride is how far apart the ranks of each group are; absent where they are
	// neighbours.
	Stride int `json:"stride,omitempty"`
	// Dtype is the element type.
	Dtype string `json:"dtype"`
	// InPlace is true for one buffer, false for two.
	InPlace bool `json:"in_place"`
	// Timing names the time that the curve is of.
	Timing string `json:"timing"`
	// Sizes is the number of sizes of the curve.
	Sizes int `json:"sizes"`
	// MinBytes is the smallest size, in bytes.
	MinBytes int64 `json:"min_bytes"`
	// MaxBytes is the largest size, in bytes.
	MaxBytes int64 `json:"max_bytes"`
	// Simulated is true when a model, not hardware, decided the times.
	Simulated bool `json:"simulated"`
	// RescaledFrom is the number of ranks that was measured; absent where ranks was
	// measured.
	RescaledFrom int `json:"rescaled_from,omitempty"`
	// Alpha is the intercept of T = alpha + S/bandwidth, fitted to the relative error, in
	// seconds. It explains the curve and decides nothing.
	Alpha float64 `json:"alpha"`
	// Bandwidth is that of the same fit, in bytes per second.
	Bandwidth float64 `json:"bandwidth"`
	// Holes are sizes that the library handles worse than their neighbours.
	Holes []Hole `json:"holes"`
	// WantMaxBytes is how far the sweep should go, in bytes: the largest message of a
	// setting that was tried; absent where the curve reaches it.
	WantMaxBytes int64 `json:"want_max_bytes,omitempty"`
	// Refine are sizes worth measuring next, in bytes: the real messages around the
	// answer.
	Refine []int64 `json:"refine"`
}
