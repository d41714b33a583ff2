package recommend

// provenLatency is the largest share of latency in recorded real steps that the model matches, whether
// one or two messages are on the network at a time (testdata/ddp). If messages are sent one at a time,
// the model matches up to 54 % (docs/BUCKET.md).
const provenLatency = 0.14

// `unproved` returns the largest share of a step that is latency, over the settings that decide the answer.
// These are the answer, the present setting, and all settings that would be better by PlateauWidth if
// messages overlapped their latencies. It returns 0 if recorded real steps have as much latency, or if
// steps of the job itself were observed.
func unproved(a *Answer) (most float64) {
	if a.Observed != nil {
		return 0
	}
	for _, c := range append(a.Table, *a.Best, *a.Now()) {
		if c.Elements == a.Best.Elements || c == *a.Now() || c.Step*(1-c.Latency) < a.Best.Step*(1-PlateauWidth) {
			most = max(most, c.Latency)
		}
	}
	if most <= provenLatency {
		return 0
	}
	return most
}
