package recommend

// provenLatency is the largest share of a step that latency has in the real steps with which the model agrees whether one
// message is on the network or two (testdata/ddp). Up to 54 % it does where messages go one at a time, see docs/BUCKET.md.
const provenLatency = 0.14

// unproved is the largest share of a step that is latency, of the settings that an answer rests on: itself, what is set
// now, and those that would be better by PlateauWidth if messages shared their latencies, as the model says that none do.
// It is 0 where real steps have as much, or where the steps are of the job itself.
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
