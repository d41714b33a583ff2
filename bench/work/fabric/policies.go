package fabric

import "fmt"

// Policies describes the effects of registered buffers and of the policy of compute units on a
// collective's constants, if the library serves them (bench/hardware/policy).
type Policies struct {
	// Copies are copy engines, Symmetric kernels on windows.
	Copies    Faster `yaml:"copies"`
	Symmetric Faster `yaml:"symmetric"`
	// Register is a rank's host time for registering one buffer, in seconds.
	Register float64 `yaml:"register"`
}

// Faster changes a curve: Rate × its bandwidth, Latency × its latencies. The zero Faster is not
// modelled: the call takes the kernels' time.
type Faster struct {
	Rate    float64 `yaml:"rate"`
	Latency float64 `yaml:"latency"`
	Source  string  `yaml:"source"`
}

func (p Policies) validate() error {
	for _, f := range []Faster{p.Copies, p.Symmetric} {
		if f != (Faster{}) && (!(f.Rate > 0) || !(f.Latency > 0) || !within(max(f.Rate, f.Latency), 100) || f.Source == "") {
			return fmt.Errorf("policies: rate and latency must be above 0 and at most 100, and have a source")
		}
	}
	if !within(p.Register, 1) {
		return fmt.Errorf("policies.register must be 0 to 1 s")
	}
	return nil
}
