package recommend

import (
	"fmt"
	"strconv"

	"zbench/bench/base/plain"
	"zbench/bench/base/unit"
	"zbench/bench/job/trainer"
)

// Count prints a number of elements with three digits: 350 M, 1.02 G.
func Count(n int64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v := float64(n) / u.size; v >= 0.9995 {
			return fmt.Sprintf("%s %s", strconv.FormatFloat(v, 'g', max(3, len(strconv.Itoa(int(v)))), 64), u.name)
		}
	}
	return strconv.FormatInt(n, 10)
}

// Amount prints a setting in the trainer's own unit: 350 M, 1335 MiB, 2 blocks. XLA's setting counts the
// output of a call. If gradients are scattered, that output is one rank's share.
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
		return plain.Count(int((setting+block/2)/max(1, block)), "block")
	}
	return Count(setting)
}

// Named returns Amount with the unit of a bare number: "350 M elements", "2 blocks per unit".
func Named(of string, setting int64, run trainer.Run, block int64) string {
	return Amount(of, setting, run, block) + map[string]string{trainer.Elements: " elements", trainer.Blocks: " per unit"}[of]
}

// amount returns a setting with its unit.
func (e *engine) amount(setting int64) string {
	return Named(e.t.Unit, setting, e.run, e.t.Default(e.q.Params, e.run))
}

// percent prints a share: 0.4 %, 12 %, 147 %.
func percent(share float64) string { return unit.Share(max(0, share)) }
