package native

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// isaFlow is a function's instructions and where each may go on: what counts of
// them can hold while the order is wrong.
type isaFlow struct {
	code []string
	next [][]int
}

var (
	flowLabel  = regexp.MustCompile(`^(\.L\w+|\$L\w+):`)
	flowBranch = regexp.MustCompile(`^(@!?%p\d+ )?(s_branch|s_cbranch_\w+|bra(?:\.uni)?)\s+([.$]L\w+)`)
	flowEnd    = regexp.MustCompile(`^(s_endpgm|ret)\b`)
)

// flowOf reads the body of a function, AMD's assembly or PTX.
func flowOf(t *testing.T, body string) isaFlow {
	t.Helper()
	var f isaFlow
	labels := map[string]int{}
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		if m := flowLabel.FindStringSubmatch(line); m != nil {
			labels[m[1]] = len(f.code)
		} else if line != "" && !strings.HasPrefix(line, ";") && !strings.HasPrefix(line, "//") && !strings.HasPrefix(line, ".") {
			f.code = append(f.code, line)
		}
	}
	f.next = make([][]int, len(f.code))
	for i, line := range f.code {
		m := flowBranch.FindStringSubmatch(line)
		if m != nil {
			to, known := labels[m[3]]
			require.True(t, known, line)
			f.next[i] = append(f.next[i], to)
		}
		always := m != nil && (m[2] == "s_branch" || m[1] == "" && strings.HasPrefix(m[2], "bra"))
		if !always && !flowEnd.MatchString(line) && i+1 < len(f.code) {
			f.next[i] = append(f.next[i], i+1)
		}
	}
	return f
}

// all are the places of the instructions that match.
func (f isaFlow) all(pattern string) []int {
	var at []int
	for i, line := range f.code {
		if regexp.MustCompile(pattern).MatchString(line) {
			at = append(at, i)
		}
	}
	return at
}

// least is the least weight of a way from behind an instruction to each other,
// that one's own weight left out; −1 where there is no way. A way does not pass
// an instruction of weight −1.
func (f isaFlow) least(from []int, weight func(int) int) []int {
	dist := slices.Repeat([]int{-1}, len(f.code))
	todo := slices.Clone(from)
	reach := func(i, d int) {
		for _, n := range f.next[i] {
			if dist[n] < 0 || d < dist[n] {
				dist[n] = d
				todo = append(todo, n)
			}
		}
	}
	for start := len(todo); start > 0; start-- {
		reach(todo[0], 0)
		todo = todo[1:]
	}
	for len(todo) > 0 {
		i := todo[0]
		todo = todo[1:]
		if w := weight(i); w >= 0 {
			reach(i, dist[i]+w)
		}
	}
	return dist
}

// reaches tells whether there is a way from one instruction to another.
func (f isaFlow) reaches(from, to int) bool {
	return f.least([]int{from}, func(int) int { return 0 })[to] >= 0
}

var vmcnt = regexp.MustCompile(`vmcnt\((\d+)\)`)

// awaited is what a wave does of instructions that match pattern, at the least,
// before it waits for the load at place i. A wait for all but the latest n loads
// waits for this one if n or fewer came after it.
func (f isaFlow) awaited(i int, load, pattern *regexp.Regexp) int {
	type state struct{ at, later int }
	const most = 63 // what a wait can leave
	seen, best := map[state]int{}, math.MaxInt
	var walk func(s state, done int)
	walk = func(s state, done int) {
		for {
			if old, ok := seen[s]; ok && old <= done || done >= best {
				return
			}
			seen[s] = done
			line := f.code[s.at]
			if m := vmcnt.FindStringSubmatch(line); m != nil {
				if left, _ := strconv.Atoi(m[1]); left <= s.later {
					best = min(best, done)
					return
				}
			}
			if pattern.MatchString(line) {
				done++
			}
			if load.MatchString(line) {
				s.later = min(s.later+1, most)
			}
			if len(f.next[s.at]) == 0 {
				return
			}
			for _, n := range f.next[s.at][1:] {
				walk(state{n, s.later}, done)
			}
			s.at = f.next[s.at][0]
		}
	}
	for _, n := range f.next[i] {
		walk(state{n, 0}, 0)
	}
	return best
}

// The stage behind the next is on its way for a stage: a wave that has asked for it waits
// behind half a stage's matrix instructions or more; the loop has two stages.
// Between two of its LDS accesses a matrix instruction hides them. And S, which only some
// products have, is asked for as a whole before any of it is waited for.
func productsWaitBehindTheirWork(t *testing.T, asm string, names []string) {
	load, mfma := regexp.MustCompile(`^global_load_dwordx4`), regexp.MustCompile(`^v_mfma`)
	for _, name := range names {
		f := flowOf(t, isaBody(asm, name))
		work := f.all(`^v_mfma`)
		prefetches, reads, share := 2, 4, 2 // of a thread, for tiles of 64
		if strings.HasSuffix(name, "_128") {
			prefetches, reads, share = 4, 8, 8
		}
		var staged, tail []int
		for _, i := range f.all(load.String()) {
			switch {
			case !f.reaches(i, work[0]):
				tail = append(tail, i)
			case f.reaches(work[0], i):
				staged = append(staged, i)
			}
		}
		require.Len(t, staged, 2*prefetches, "%s: loads of the loop over stages", name)
		for _, i := range staged {
			require.GreaterOrEqual(t, 4*f.awaited(i, load, mfma), len(work), "%s: matrix instructions before the wait for %s", name, f.code[i])
		}
		require.Equal(t, 2*(prefetches+reads), hiddenAccesses(t, f, name), "%s: LDS accesses of the loop", name)
		require.Len(t, tail, share, "%s: loads behind the loop", name)
		for k, i := range tail {
			require.Equal(t, share-1-k, f.awaited(i, load, load), "%s: loads of S before the wait for %s", name, f.code[i])
		}
		past := f.least([]int{work[len(work)-1]}, func(i int) int {
			if slices.Contains(tail, i) {
				return -1
			}
			return 0
		})
		require.True(t, slices.ContainsFunc(f.all(`^s_endpgm`), func(i int) bool { return past[i] >= 0 }), "%s: S is read whatever beta is", name)
	}
}

// hiddenAccesses counts the LDS accesses of the loop over stages, and holds that none follows
// another without a matrix instruction between them.
func hiddenAccesses(t *testing.T, f isaFlow, name string) (n int) {
	work := f.all(`^v_mfma`)
	last := work[0]
	for _, i := range f.all(`^(ds_(read|write)_b128|v_mfma)`) {
		if !f.reaches(work[0], i) || !f.reaches(i, work[0]) {
			continue
		}
		if access := strings.HasPrefix(f.code[i], "ds_"); access {
			n++
			require.False(t, strings.HasPrefix(f.code[last], "ds_"), "%s: %s follows %s", name, f.code[i], f.code[last])
		}
		last = i
	}
	return n
}

// The same of NVIDIA's: behind the request for a stage come all matrix
// instructions of another before the next wait.
func copiesWaitBehindTheirWork(t *testing.T, asm string, names []string) {
	for _, name := range names {
		_, body, _ := strings.Cut(asm, ".entry "+name+"(")
		body, _, _ = strings.Cut(body, ".entry ")
		f := flowOf(t, body)
		work := f.all(`^mma\.sync`)
		waits := f.all(`^cp\.async\.wait_group`)
		looped := 0
		for _, i := range f.all(`^cp\.async\.commit_group`) {
			if !f.reaches(work[0], i) || !f.reaches(i, work[0]) {
				continue
			}
			looped++
			done := f.least([]int{i}, func(k int) int {
				switch {
				case slices.Contains(waits, k):
					return -1
				case slices.Contains(work, k):
					return 1
				}
				return 0
			})
			for _, k := range waits {
				if done[k] >= 0 {
					require.GreaterOrEqual(t, done[k], len(work), "%s: matrix instructions before the next wait", name)
				}
			}
		}
		require.Equal(t, 1, looped, "%s: requests in the loop over stages", name)
	}
}

// A wave whose row has one vector for it branches past the others that it could
// hold: with room for twice as many or more it does hardly more work.
func normsSkipAbsentVectors(t *testing.T, asm string) {
	short := func(name string) int { // vector instructions of a row of one vector
		f := flowOf(t, isaBody(asm, name))
		loads, end := f.all(`^global_load_dwordx4`), f.all(`^s_endpgm`)
		valu := func(i int) int { return b2i(strings.HasPrefix(f.code[i], "v_")) }
		return f.least([]int{0}, valu)[loads[0]] + f.least(loads[:1], valu)[end[0]]
	}
	for _, of := range []string{"rmsnorm_bf16", "rmsnorm_f16", "rmsnorm_f32", "layernorm_bf16", "layernorm_f16", "layernorm_f32"} {
		few := short("zb_" + of + "_1_wave")
		require.Positive(t, few)
		for _, way := range []string{"block", "large"} {
			name := "zb_" + of + "_1_" + way
			// the sums over threads differ as well, and what is absent is made zero
			require.Less(t, float64(short(name)), 1.6*float64(few), "%s: vector instructions of a wave with one vector, of zb_%s_1_wave %d", name, of, few)
		}
	}
}

// The flow of code is read as it runs, and a wait in the wrong place is seen.
func TestISAFlow(t *testing.T) {
	const loop = `
	global_load_dwordx4 v[0:3], v[8:9], off
.LBB0_1:
	s_waitcnt vmcnt(0)
	s_cbranch_scc1 .LBB0_3
; %bb.2:
	global_load_dwordx4 v[0:3], v[8:9], off
	WAIT
.LBB0_3:
	v_mfma_f32 a[0:3]
	v_mfma_f32 a[4:7]
	s_cbranch_vccz .LBB0_1
	s_endpgm`
	load, mfma := regexp.MustCompile("^global_load"), regexp.MustCompile("^v_mfma")
	for wait, want := range map[string]int{"s_nop 0": 2, "s_waitcnt lgkmcnt(0)": 2, "s_waitcnt vmcnt(1)": 2, "s_waitcnt vmcnt(0) lgkmcnt(0)": 0} {
		f := flowOf(t, strings.Replace(loop, "WAIT", wait, 1))
		loads := f.all("^global_load")
		require.Len(t, loads, 2)
		require.Equal(t, 0, f.awaited(loads[0], load, mfma))
		require.Equal(t, want, f.awaited(loads[1], load, mfma), wait)
		require.True(t, f.reaches(loads[1], loads[1]))
		require.False(t, f.reaches(loads[1], loads[0]))
		end := f.all("s_endpgm")[0]
		require.Equal(t, 2, f.least([]int{0}, func(i int) int {
			if mfma.MatchString(f.code[i]) {
				return 1
			}
			return 0
		})[end])
		require.Equal(t, -1, f.least([]int{0}, func(i int) int { return -b2i(mfma.MatchString(f.code[i])) })[end])
	}
	f := flowOf(t, "mov.u32 %r1, 0;\n$L__BB0_1:\n@%p1 bra $L__BB0_3;\nbra.uni $L__BB0_1;\n$L__BB0_3:\nret;")
	require.Equal(t, [][]int{{1}, {3, 2}, {1}, nil}, f.next)
}
