package recommend

// Flight is the rule by which messages share a network. A [Pass] runs this rule. Tests compare
// [Answer.NodesOf], the schedule of zbench replay and the streams of the loopback with this rule. A message
// starts when it has been launched and the previous messages of its queues have ended. Calls of one
// communicator follow one another, and so do calls on the same stream of the trainer. Messages of different
// queues are on the network at the same time: their latencies overlap, but they share the links, so their
// transfers follow one another.
type Flight struct {
	// Busy is the end of the last transfer, in seconds.
	Busy float64
	// ends holds the end of each queue's last message, in seconds.
	ends [queues]float64
}

// queues is the largest number of queues in a pass: a trainer has at most four communicators and three
// streams.
const queues = 16

// Send returns the end of a message that is launched at `at` and takes `seconds` alone. The first `latency`
// seconds of the message overlap with messages of other queues; 0 means one message at a time.
func (f *Flight) Send(at, seconds, latency float64, in ...int8) float64 {
	for _, q := range in {
		at = max(at, f.ends[q])
	}
	if at += latency; at < f.Busy { // calling max would slow a question down by a third
		at = f.Busy
	}
	f.Busy = at + seconds - latency
	for _, q := range in {
		f.ends[q] = f.Busy
	}
	return f.Busy
}
