package recommend

import (
	"fmt"
	"math"
	"strconv"

	"zbench/bench/trainer"
	"zbench/bench/unit"
)

// Count prints a number of elements with three digits: 350 M, 1.02 G.
func Count(n int64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v := float64(n) / u.size; v >= 0.9995 {
			return fmt.Sprintf("%s %s", strconv.FormatFloat(v, 'g', max(3, digits(v)), 64), u.name)
		}
	}
	return strconv.FormatInt(n, 10)
}

// Amount prints a setting in the trainer's own unit: 350 M, 1335 MiB, 2 blocks. XLA's
// knob counts the output of a call, which is one rank's share if gradients are
// scattered.
func Amount(of string, setting int64, run trainer.Run, block int64) string {
	bytes := setting * run.GradBytes()
	switch of {
	case trainer.MiB:
		if bytes%unit.MiB == 0 {
			return fmt.Sprintf("%d MiB", bytes/unit.MiB)
		}
		return unit.Digits(float64(bytes)/(1<<20)) + " MiB"
	case trainer.Bytes:
		if run.Zero > 0 {
			bytes /= int64(max(1, run.DP))
		}
		return unit.Bytes(bytes)
	case trainer.Blocks:
		n := (setting + block/2) / max(1, block)
		if n == 1 {
			return "1 block"
		}
		return fmt.Sprintf("%d blocks", n)
	}
	return Count(setting)
}

// amount is Amount with the unit of a bare number.
func (e *engine) amount(setting int64) string {
	switch e.t.Unit {
	case trainer.Elements:
		return Count(setting) + " elements"
	case trainer.Blocks:
		return Amount(e.t.Unit, setting, e.run, e.t.Default(e.q.Params, e.run)) + " per unit"
	}
	return Amount(e.t.Unit, setting, e.run, 0)
}

// digits is the number of digits of v before the decimal point.
func digits(v float64) int {
	n := 1
	for ; v >= 10; v /= 10 {
		n++
	}
	return n
}

// percent prints a share: 0.4 %, 12 %, 147 %.
func percent(share float64) string {
	if p := 100 * share; p < 9.95 {
		return strconv.FormatFloat(math.Round(10*max(0, p))/10, 'f', -1, 64) + " %"
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

// calls prints "one message" or "21 messages".
func calls(n int) string {
	if n == 1 {
		return "one message"
	}
	return fmt.Sprintf("%d messages", n)
}
