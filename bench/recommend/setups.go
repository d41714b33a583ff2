package recommend

import (
	"fmt"
	"strings"
)

// severalSetups refuses a record that has the chosen curve more than once, of
// other runs, devices or settings: it is unknown which of them the trainer uses.
func severalSetups(best Curve, fit []Curve) *Refusal {
	var setups []string
	for _, c := range fit {
		if c.Dtype == best.Dtype && c.Ranks == best.Ranks && c.Nodes == best.Nodes && c.Groups == best.Groups && c.Stride == best.Stride && c.InPlace == best.InPlace {
			setups = append(setups, c.Setup)
		}
	}
	if len(setups) < 2 {
		return nil
	}
	const named = 3
	text := strings.Join(setups[:min(len(setups), named)], "; ")
	if len(setups) > named {
		text += "; …"
	}
	return refuse(
		"several_setups",
		fmt.Sprintf("the record has %d curves of %s of %d ranks, of other runs, devices or settings (%s)", len(setups), best.Collective, best.Ranks, text),
		"give a log of the one run that is like the training",
	)
}
