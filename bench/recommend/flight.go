package recommend

// flight is the rule by which messages share a network; [Pass.End] runs it, and tests hold the timed steps of the loopback to
// it. A message starts when it has been launched and the one before it has ended: so do the collectives of a stream, RCCL's
// and NCCL's. With two in flight it starts when the one before the last has ended, and their transfers follow one another:
// a message that shares a link ends no earlier. Only their latencies overlap.
type flight struct {
	// busy is when the last message has ended, before when the one before it has.
	busy, before float64
}

// send returns when a message has ended that is launched at a time and takes so many seconds alone. Shared is the part of
// them that two in flight overlap, in seconds; 0 is one at a time.
func (f *flight) send(at, seconds, shared float64) float64 {
	end := max(at, f.busy) + seconds
	if shared > 0 {
		end = max(max(at, f.before)+shared, f.busy) + seconds - shared
	}
	f.before, f.busy = f.busy, end
	return end
}
