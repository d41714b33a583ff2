package trainer

// Switch is a setting beside the bucket size that the user's run lacks and the
// advised one has.
type Switch struct {
	// Name is how the trainer spells it.
	Name string
	// Run is the user's with this switch and those before it.
	Run Run
}

// Advised is the run that a bucket size is chosen for: the user's, with all that
// overlaps switched on and one size for all calls.
func (t Trainer) Advised(run Run) Run {
	run.NoOverlap, run.NoGatherOverlap, run.GatherBytes = false, false, 0
	return run
}

// Switches are the steps from the user's run to the advised one, in the order in
// which they can be made; none for a trainer without such settings.
func (t Trainer) Switches(run, advised Run) []Switch {
	var all []Switch
	add := func(when bool, name string, change func(r *Run)) {
		if when && name != "" {
			change(&run)
			all = append(all, Switch{name, run})
		}
	}
	add(run.NoOverlap && !advised.NoOverlap, overlapNames[t.Name], func(r *Run) { r.NoOverlap = false })
	add(run.NoGatherOverlap && !advised.NoGatherOverlap && t.Name == "megatron" && run.Zero > 0, "--overlap-param-gather", func(r *Run) { r.NoGatherOverlap = false })
	add(run.GatherBytes != advised.GatherBytes && t.Name == "xla" && run.Zero > 0, "--"+xlaFlagName("all_gather"), func(r *Run) { r.GatherBytes = advised.GatherBytes })
	return all
}

// overlapNames are the switches that let communication overlap with backward.
var overlapNames = map[string]string{
	"megatron": "--overlap-grad-reduce", "deepspeed": "overlap_comm",
}

// Unset is the run where no bucket size is set: XLA then has one default for each
// call.
func (t Trainer) Unset(run Run) Run {
	if t.Name == "xla" && run.Zero > 0 && run.GatherBytes == 0 {
		run.GatherBytes = xlaDefault
	}
	return run
}

// xlaFlagName is the threshold of a call.
func xlaFlagName(call string) string { return "xla_gpu_" + call + "_combine_threshold_bytes" }
