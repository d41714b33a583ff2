package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/hardware/collective"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/report"
)

// soakSweep is one random sweep: its command line and what must come of it.
type soakSweep struct {
	args, faults []string
	// cases is the number of results that the record must have.
	cases int
	// stuck and wrong tell which faults are planted: some case may hang, or have
	// wrong data.
	stuck, wrong bool
	// usage is set where the command line is refused.
	usage bool
}

// pick draws one of several.
func pick[T any](rng *rand.Rand, of ...T) T { return of[rng.IntN(len(of))] }

// drawSweep draws a sweep that takes about a tenth of a second.
func drawSweep(rng *rand.Rand) soakSweep {
	nodes, gpus := pick(rng, 1, 1, 1, 2, 2, 4, 8, 16), pick(rng, 2, 4, 8, 8)
	dtype, op := pick(rng, collective.Dtypes()...), pick(rng, collective.Ops()...)
	names := collective.Names()
	rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = names[:1+rng.IntN(3)]
	lo, factor := int64(1)<<rng.IntN(21), 2+rng.IntN(15)
	hi := lo << rng.IntN(11)
	place := pick(rng, "out", "in", "both")
	s := soakSweep{args: append([]string{"collectives"}, names...)}
	add := func(format string, args ...any) {
		s.args = append(s.args, strings.Fields(fmt.Sprintf(format, args...))...)
	}
	add("--nodes %d --gpus-per-node %d -g %d -b %d -e %d -f %d -d %s -o %s --place %s", nodes, gpus, pick(rng, 1, gpus), lo, hi, factor, dtype.Name, op.Name, place)
	add("-n %d -w %d -c %d --max-time %g --precision %g --cache %s --seed %d --verify-budget %s --format %s",
		1+rng.IntN(20), rng.IntN(6), rng.IntN(3), pick(rng, 0.001, 0.01, 0.05), pick(rng, 0.01, 0.05), pick(rng, "cold", "warm"),
		rng.Uint32(), pick(rng, "1K", "1M", "64M"), pick(rng, report.FormatNames()...))
	if rng.IntN(4) == 0 {
		add("--keep-samples")
	}
	splits := 1
	for _, g := range []int{2, 4, 8} {
		if rng.IntN(4) == 0 {
			add("--groups %d", g)
			s.usage = s.usage || gpus%g != 0 && (g%gpus != 0 || nodes*gpus%g != 0)
			if g != nodes*gpus {
				splits++
			}
		}
	}
	if n := 1 + rng.IntN(nodes); rng.IntN(3) == 0 {
		add("--scale %d", n)
		if n != nodes {
			splits++
		}
	}
	for _, name := range names {
		c, err := collective.ByName(name)
		s.usage = s.usage || err != nil || c.Reduces && dtype.MovedOnly
		forms := len(spec.Places[place])
		if c.InPlace == collective.Never {
			forms = 1 // one that it has not is left out beside the other, and skipped alone
		}
		for size := lo; size <= hi; size *= int64(factor) {
			s.cases += forms * splits
		}
	}
	for range rng.IntN(3) {
		s.plant(rng, nodes, gpus)
	}
	f, err := fabric.ByName(fabric.Default)
	if err == nil { // two faults in one place are refused
		_, err = f.Resolve(spec.World{Nodes: nodes, GPUsPerNode: gpus, GPUsPerProcess: 1}, fabric.Conditions{Faults: s.faults})
	}
	s.usage = s.usage || err != nil
	return s
}

// soakFaults are forms of faults with what is drawn: N a node, G and H GPUs of it
// that differ, R a rail, B a size in bytes, L a launch, S seconds, P a share.
var soakFaults = []string{
	"late_gpu:node=N,gpu=G,seconds=S", "late_node:node=N,seconds=S", "slow_link:node=N,a=G,b=H,left=P", "slow_rail:node=N,rail=R,left=P",
	"dead_rail:node=N,rail=R", "slow_leaf:rail=R,left=P", "flaky_link:node=N,part=P,times=4", "dip:from=1e3,to=B,times=2", "noise:sigma=0.03",
	"hang:node=N,gpu=G,bytes=B,launch=L", "async_error:node=N,gpu=G,bytes=B,launch=L",
	"missing_rank:node=N,gpu=G", "doubled_rank:node=N,gpu=G", "swapped_blocks:node=N,gpu=G", "stale_buffer:node=N,gpu=G", "corrupt:node=N,gpu=G,index=L",
}

func (s *soakSweep) plant(rng *rand.Rand, nodes, gpus int) {
	form := pick(rng, soakFaults...)
	a := rng.IntN(gpus)
	name, keys, _ := strings.Cut(form, ":")
	keys = strings.NewReplacer("N", strconv.Itoa(rng.IntN(nodes)), "G", strconv.Itoa(a), "H", strconv.Itoa((a+1+rng.IntN(gpus-1))%gpus),
		"R", strconv.Itoa(rng.IntN(gpus)), "B", strconv.Itoa(1<<(10+rng.IntN(16))), "L", strconv.Itoa(rng.IntN(30)),
		"S", fmt.Sprintf("%.3g", 1e-6+1e-4*rng.Float64()), "P", fmt.Sprintf("%.2f", 0.1+0.8*rng.Float64())).Replace(keys)
	s.args = append(s.args, "--fault", name+":"+keys)
	s.stuck = s.stuck || name == "hang" || name == "async_error"
	s.wrong = s.wrong || slices.Contains([]string{"missing_rank", "doubled_rank", "swapped_blocks", "stale_buffer", "corrupt"}, name)
	s.faults = append(s.faults, name+":"+keys)
}
