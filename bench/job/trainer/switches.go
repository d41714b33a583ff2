package trainer

// Switch is a setting beside the bucket size that the advised run has and the user's run lacks.
type Switch struct {
	// Name in the trainer's spelling.
	Name string
	// Run is the user's with this switch and the earlier ones.
	Run Run
}

// runSwitch is such a setting of a trainer: its condition, and the change of a run.
type runSwitch struct {
	name   string
	lacks  func(run, advised Run) bool
	change func(run *Run, advised Run)
}

// overlapSwitch lets communication overlap with backward.
func overlapSwitch(name string) runSwitch {
	return runSwitch{
		name,
		func(run, advised Run) bool { return run.NoOverlap && !advised.NoOverlap },
		func(run *Run, _ Run) { run.NoOverlap = false },
	}
}

// Advised returns the run for which a bucket size is chosen: the user's, with all overlap switched
// on and one size for all calls.
func (t Trainer) Advised(run Run) Run {
	run.NoOverlap, run.NoGatherOverlap, run.GatherBytes = false, false, 0
	return run
}

// Switches returns the steps from the user's run to the advised one, in a possible order; none for
// a trainer without such settings.
func (t Trainer) Switches(run, advised Run) []Switch {
	var all []Switch
	for _, s := range t.switches {
		if s.lacks(run, advised) {
			s.change(&run, advised)
			all = append(all, Switch{s.name, run})
		}
	}
	return all
}

// Change is a change other than the bucket size.
type Change struct {
	Code, Message string
	// When reports whether it can be changed in a run.
	When func(run Run) bool
	// Apply changes it; nil if the curves cannot give its gain. It is then proposed if the latency
	// of many ranks is a notable part of the step.
	Apply func(run *Run)
}
