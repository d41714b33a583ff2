package fabric

import "fmt"

// Policies describes how registered buffers and the policy for compute units change the constants
// of a collective, if the library supports them (bench/hardware/policy).
type Policies struct {
	// Copies is the change by copy engines, and Symmetric is the change by kernels on windows.
	Copies    Faster `yaml:"copies"`
	Symmetric Faster `yaml:"symmetric"`
	// Register is the host time, in seconds, for which a rank registers one buffer.
	Register float64 `yaml:"register"`
}

// Faster changes a curve. Its bandwidth is multiplied by Rate, and its latencies are multiplied
// by Latency. The zero Faster means that the change is not modelled. The call then takes the time
// of the usual kernels.
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
