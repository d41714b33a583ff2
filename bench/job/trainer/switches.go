package trainer

// Switch is a setting, other than the bucket size, that the advised run has and the user's run
// lacks.
type Switch struct {
	// Name is the setting in the trainer's spelling.
	Name string
	// Run is the user's run with this switch and all earlier switches.
	Run Run
}

// runSwitch is a switch of a trainer. The function lacks reports whether a run needs the switch.
// The function change applies the switch.
type runSwitch struct {
	name   string
	lacks  func(run, advised Run) bool
	change func(run *Run, advised Run)
}

// overlapSwitch makes communication overlap with backward.
func overlapSwitch(name string) runSwitch {
	return runSwitch{
		name,
		func(run, advised Run) bool { return run.NoOverlap && !advised.NoOverlap },
		func(run *Run, _ Run) { run.NoOverlap = false },
	}
}

// Advised returns the run for which a bucket size is chosen: the user's run with all overlap turned
// on and one size for all calls.
func (t Trainer) Advised(run Run) Run {
	run.NoOverlap, run.NoGatherOverlap, run.GatherBytes = false, false, 0
	return run
}

// Switches returns the steps from the user's run to the advised run, in an order that works. A
// trainer without such settings has none.
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

// Change is a possible improvement other than the bucket size.
type Change struct {
	Code, Message string
	// When reports whether the change is possible in a run.
	When func(run Run) bool
	// Apply makes the change. It is nil if the curves do not show the gain; the change is then
	// proposed if the latency of many ranks is a notable part of the step.
	Apply func(run *Run)
}
