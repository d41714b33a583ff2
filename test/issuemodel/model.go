// Package issuemodel replays the loop of a compiled kernel on a model of one compute unit of
// gfx942. It gives a number by which a schedule can be judged without a GPU: the share of time in
// which the matrix units work.
//
// Each SIMD has a turn every four clocks. In a turn it issues at most one instruction per port
// (vector and matrix, scalar, LDS, memory), each from another wave. A matrix instruction occupies
// its unit for its passes, and its sum is available to the next instruction a little later. LDS
// serves the waves of all four SIMDs one after the other, with 128 bytes per clock. The path to
// memory serves them in the same way, with 64 bytes per clock and a latency that the caller gives.
// Waits are counted as in the code, and a barrier holds the waves of its block.
//
// The model leaves out the instruction cache, bank conflicts of LDS, full queues, differences in
// the memory's latency, other compute units, and the clock, which falls under high power. A share
// belongs to this model, not to a GPU: it only serves to compare schedules.
package issuemodel

import (
	"fmt"
	"strconv"
	"strings"

	"zbench/bench/base/pattern"
)

// Clocks of gfx942. A turn is four clocks. A matrix instruction of 16 x 16 x 16 executes 8,192
// operations, at 512 operations per clock and SIMD.
const (
	turn        = 4
	matrix      = 16
	chained     = 8 // clocks after the passes until the next instruction may add to the sum
	branch      = 16
	ldsBytes    = 128
	ldsLatency  = 128
	pathBytes   = 64
	accessBytes = 64 * 16 // bytes of one wave, at 16 bytes per lane
	simds       = 4
)

type port int

const (
	vector port = iota
	scalar
	lds
	memory
	inner // waits and barriers, which use no port
	ports
)

// op is what the model needs to know about an instruction.
type op struct {
	port port
	// sum is the accumulator of a matrix instruction.
	sum string
	// bytes is the size of a wave's access. passes is the number of clocks of a matrix instruction.
	bytes, passes int
	// leftLDS and leftMemory are the numbers of accesses that may remain outstanding after a wait;
	// −1 means any number.
	leftLDS, leftMemory int
	barrier, jump       bool
}

var (
	matrixSum = pattern.New(`^v_mfma_f32_16x16x16_bf16 (\S+),`)
	counted   = pattern.New(`(vmcnt|lgkmcnt)\((\d+)\)`)
	wide      = pattern.New(`^(ds_(read|write)_b128|global_load_dwordx4)\b`)
)

// Loop is the code of a loop.
type Loop struct{ ops []op }

// Read reads the instructions of a loop without inner branches, as clang writes them. It returns an
// error for an instruction that the model does not know.
func Read(text string) (Loop, error) {
	var l Loop
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, ";")
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, ".") {
			continue
		}
		o := op{leftLDS: -1, leftMemory: -1}
		switch sum := matrixSum.FindStringSubmatch(line); {
		case sum != nil:
			o.sum, o.passes = sum[1], matrix
		case strings.HasPrefix(line, "v_mfma"):
			return l, fmt.Errorf("no rule for %q", line)
		case strings.HasPrefix(line, "v_"):
		case wide.MatchString(line):
			o.port, o.bytes = lds, accessBytes
			if strings.HasPrefix(line, "global") {
				o.port = memory
			}
		case strings.HasPrefix(line, "s_waitcnt"):
			o.port = inner
			for _, c := range counted.FindAllSubmatch([]byte(line), -1) {
				left := &o.leftMemory
				if string(c[1]) == "lgkmcnt" {
					left = &o.leftLDS
				}
				*left, _ = strconv.Atoi(string(c[2]))
			}
		case strings.HasPrefix(line, "s_barrier"):
			o.port, o.barrier = inner, true
		case strings.HasPrefix(line, "s_"):
			o.port, o.jump = scalar, strings.HasPrefix(line, "s_cbranch") || strings.HasPrefix(line, "s_branch")
		default:
			return l, fmt.Errorf("no rule for %q", line)
		}
		l.ops = append(l.ops, o)
	}
	if len(l.ops) == 0 {
		return l, fmt.Errorf("no instructions")
	}
	return l, nil
}

// wave is one wave of a block. Its number in the block decides its SIMD.
type wave struct {
	block, at, round int
	free             int // the clock from which it can issue again
	lds, memory      []int
	sums             map[string]int
	waiting          bool // whether it waits at a barrier
}

// unit is a compute unit that executes a loop.
type unit struct {
	loop             Loop
	latency          int
	waves            [][]*wave // by block and SIMD
	matrixFree       [simds]int
	ldsFree, memFree int
	busy             int // clocks in which matrix units were busy, in total
}

// Busy returns the share of time, from 0 to 1, in which the matrix units of a compute unit work.
// The unit has the given number of blocks of four waves. rounds is the number of times that each
// wave repeats the loop. latency is the time, in clocks, until the memory answers. The result is
// the mean over eight distances between the starts of the blocks.
func (l Loop) Busy(blocks, rounds, latency int) float64 {
	const distances = 8
	each, all := 0, 0.0
	for _, o := range l.ops {
		each += o.passes
	}
	for d := range distances {
		u := unit{loop: l, latency: latency}
		for b := range blocks {
			var of []*wave
			for range simds {
				of = append(of, &wave{block: b, free: b * each * d / distances, sums: map[string]int{}})
			}
			u.waves = append(u.waves, of)
		}
		begin := u.run(0, rounds/4)
		u.busy = 0
		end := u.run(begin, rounds)
		all += float64(u.busy) / float64(simds*(end-begin))
	}
	return all / distances
}

// run continues from a clock until all waves have finished the given number of rounds.
func (u *unit) run(now, rounds int) (end int) {
	for ; ; now += turn {
		done := rounds
		for _, block := range u.waves {
			for _, w := range block {
				done = min(done, w.round)
			}
		}
		if done == rounds {
			return now
		}
		for simd := range simds {
			u.issue(simd, now)
		}
		u.release()
	}
}

// issue makes one turn of a SIMD. Older blocks have priority.
func (u *unit) issue(simd, now int) {
	var taken [ports]bool
	for _, block := range u.waves {
		w := block[simd]
		o := u.loop.ops[w.at]
		if now < w.free || w.waiting || o.port != inner && taken[o.port] || !u.ready(w, o, simd, now) {
			continue
		}
		taken[o.port] = true
		u.start(w, o, simd, now)
	}
}

func outstanding(list []int, now int) []int {
	for len(list) > 0 && list[0] <= now {
		list = list[1:]
	}
	return list
}

func (u *unit) ready(w *wave, o op, simd, now int) bool {
	w.lds, w.memory = outstanding(w.lds, now), outstanding(w.memory, now)
	switch {
	case o.passes > 0:
		return u.matrixFree[simd] <= now && w.sums[o.sum] <= now
	case o.port == inner:
		return (o.leftLDS < 0 || len(w.lds) <= o.leftLDS) && (o.leftMemory < 0 || len(w.memory) <= o.leftMemory)
	}
	return true
}

func (u *unit) start(w *wave, o op, simd, now int) {
	w.free = now + turn
	switch {
	case o.passes > 0:
		u.matrixFree[simd] = now + o.passes
		u.busy += o.passes
		w.sums[o.sum] = now + o.passes + chained
	case o.port == lds:
		u.ldsFree = max(u.ldsFree, now) + o.bytes/ldsBytes
		w.lds = append(w.lds, u.ldsFree+ldsLatency)
	case o.port == memory:
		u.memFree = max(u.memFree, now) + o.bytes/pathBytes
		w.memory = append(w.memory, u.memFree+u.latency)
	case o.barrier:
		w.waiting = true
	case o.jump:
		w.free = now + branch
	}
	if w.at++; w.at == len(u.loop.ops) {
		w.at = 0
		w.round++
	}
}

// release lets the waves of a block continue if all of them wait at its barrier.
func (u *unit) release() {
	for _, block := range u.waves {
		all := true
		for _, w := range block {
			all = all && w.waiting
		}
		for _, w := range block {
			w.waiting = w.waiting && !all
		}
	}
}
