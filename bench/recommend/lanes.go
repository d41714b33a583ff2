package recommend

// Times is one way in which a pass may go.
type Times struct {
	// Compute is the computation of the pass, in seconds.
	Compute float64
	// Slow multiplies the time of each message.
	Slow float64
}

// lanes is how many ways are simulated at once. An event of one way waits for the one
// before it; those of other ways keep the processor busy meanwhile.
const lanes = 4

// Space is the scratch space of Ends.
type Space struct {
	through [][lanes]float64
	ends    []float64
}

// Ends is [Pass.End] for several ways at once, to the last bit. The result belongs to the
// space until its next use.
func (p Pass) Ends(all []Times, cost []float64, space *Space) []float64 {
	if cap(space.through) < p.messages {
		space.through = make([][lanes]float64, p.messages)
	}
	space.ends = space.ends[:0]
	for first := 0; first < len(all); first += lanes {
		n := min(lanes, len(all)-first)
		var some [lanes]Times
		copy(some[:], all[first:first+n])
		ends := p.some(some, cost, space.through[:p.messages])
		space.ends = append(space.ends, ends[:n]...)
	}
	return space.ends
}

// some is written out for four lanes, since the compiler keeps no array in registers.
func (p Pass) some(of [lanes]Times, cost []float64, through [][lanes]float64) [lanes]float64 {
	compute0, compute1, compute2, compute3 := of[0].Compute, of[1].Compute, of[2].Compute, of[3].Compute
	var clock0, clock1, clock2, clock3, network0, network1, network2, network3, done float64
	for _, e := range p.events {
		behind := p.done[e.boundary]
		step := behind - done
		done = behind
		clock0 += compute0 * step
		clock1 += compute1 * step
		clock2 += compute2 * step
		clock3 += compute3 * step
		if e.wait() {
			t := &through[e.index()]
			clock0, clock1 = later(clock0, t[0]), later(clock1, t[1])
			clock2, clock3 = later(clock2, t[2]), later(clock3, t[3])
			continue
		}
		c := cost[e.message]
		network0 = later(clock0, network0) + of[0].Slow*c
		network1 = later(clock1, network1) + of[1].Slow*c
		network2 = later(clock2, network2) + of[2].Slow*c
		network3 = later(clock3, network3) + of[3].Slow*c
		through[e.message] = [lanes]float64{network0, network1, network2, network3}
	}
	rest := 1 - done
	return [lanes]float64{
		later(clock0+compute0*rest, network0), later(clock1+compute1*rest, network1),
		later(clock2+compute2*rest, network2), later(clock3+compute3*rest, network3),
	}
}

// later is max of two times, of which none is negative or not a number.
func later(a, b float64) float64 {
	if a > b {
		return a
	}
	return b
}
