package recommend

// Flight is the rule by which messages share a network; a [Pass] runs it, and tests hold [Answer.NodesOf], the schedule of
// zbench replay and the streams of the loopback to it. A message starts when it has been launched and those before it in
// its queues have ended: calls of a communicator follow one another, and so do those of a trainer's stream. Messages of other
// queues are on the network at the same time. Their latencies overlap, but they share the links, so that their transfers follow one another.
type Flight struct {
	// Busy is when the last transfer has ended, in seconds.
	Busy float64
	// ends is when the last message of each queue has.
	ends [queues]float64
}

// queues is the most queues of a pass: a trainer has at most four communicators and three streams.
const queues = 16

// Send returns when a message has ended that is launched at a time and takes so many seconds alone, of which its latency overlaps
// with messages of other queues. A latency of 0 is one message at a time.
func (f *Flight) Send(at, seconds, latency float64, in ...int8) float64 {
	for _, q := range in {
		at = max(at, f.ends[q])
	}
	if at += latency; at < f.Busy { // max is slower by a third of a question
		at = f.Busy
	}
	f.Busy = at + seconds - latency
	for _, q := range in {
		f.ends[q] = f.Busy
	}
	return f.Busy
}
