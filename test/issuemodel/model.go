// Package issuemodel replays the loop of a compiled kernel on a model of one compute
// unit of gfx942, so that a schedule is judged by a number where no GPU is: the share
// of time that the matrix units work.
//
// Each SIMD has a turn every four clocks, in which it issues one instruction a port,
// each of another wave: vector and matrix, scalar, LDS, memory. A matrix instruction
// keeps its unit for its passes and gives its sum to the next one a little later. LDS
// serves the waves of all four SIMDs one after the other, 128 bytes a clock, and so does
// the path to memory, 64 bytes a clock and a latency that the caller gives. Waits count
// as the code says, and a barrier holds the waves of its block.
//
// Left out: the cache of instructions, conflicts of LDS's banks, queues that are full,
// differences in the memory's latency, what other compute units do, and the clock, which
// power brings down. A share is of this model, not of a GPU: schedules are compared by it.
package issuemodel

import (
	"fmt"
	"strconv"
	"strings"

	"zbench/bench/base/pattern"
)

// Clocks of gfx942. A turn is four; a 16 x 16 x 16 matrix instruction makes 8,192 operations,
// a SIMD's 512 a clock.
const (
	turn        = 4
	matrix      = 16
	chained     = 8 // until the next instruction may add to a sum, behind its passes
	branch      = 16
	ldsBytes    = 128
	ldsLatency  = 128
	pathBytes   = 64
	accessBytes = 64 * 16 // of a wave, 16 bytes a lane
	simds       = 4
)

type port int

const (
	vector port = iota
	scalar
	lds
	memory
	inner // waits, barriers: they take no port
	ports
)

// op is an instruction as far as the model looks at it.
type op struct {
	port port
	// sum is the accumulator of a matrix instruction.
	sum string
	// bytes are those of a wave's access, passes the clocks of a matrix instruction.
	bytes, passes int
	// A wait leaves so many accesses; −1 is any number.
	leftLDS, leftMemory int
	barrier, jump       bool
}

var (
	matrixSum = pattern.New(`^v_mfma_f32_16x16x16_bf16 (\S+),`)
	counted   = pattern.New(`(vmcnt|lgkmcnt)\((\d+)\)`)
	wide      = pattern.New(`^(ds_(read|write)_b128|global_load_dwordx4)\b`)
)

// Loop is the code that is repeated.
type Loop struct{ ops []op }

// Read reads the instructions of a loop without branches in it, as clang writes them. An
// instruction that the model has no rule for is an error.
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

// wave is one of a block, on the SIMD of its number in it.
type wave struct {
	block, at, round int
	free             int // the clock from which it issues again
	lds, memory      []int
	sums             map[string]int
	waiting          bool // at a barrier
}

// unit is a compute unit on its way through a loop.
type unit struct {
	loop             Loop
	latency          int
	waves            [][]*wave // by block, then SIMD
	matrixFree       [simds]int
	ldsFree, memFree int
	busy             int // clocks of all matrix units
}

// Busy is the share of time that the matrix units of a compute unit work, 0 to 1: so many
// blocks of four waves on it repeat the loop so many times, with a memory that answers after
// latency clocks. It is the mean over eight distances at which the blocks begin.
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

// run goes on from a clock until all waves have been through so many rounds.
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

// issue is a turn of a SIMD. The blocks' waves are asked in the order of their age.
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

// release lets the waves of a block go on that are all at its barrier.
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
