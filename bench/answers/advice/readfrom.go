package advice

import (
	"cmp"
	"fmt"
	"strings"

	"zbench/bench/job/trainer"
	"zbench/bench/run/spec"
)

// part is one part of a run, with its source: a flag or the file.
type part struct {
	name, value string
	flag, file  bool
}

// parts returns the parts of a run that the answer relies on.
func parts(in Input) []part {
	c, f, r, w := in.Config, in.Config.AsRead(), in.Run, in.Asked
	if w == nil {
		w = &spec.Advice{}
	}
	on := map[bool]string{true: "off", false: "on"}
	types, world := "gradients "+r.GradDtype+", parameters "+r.ParamDtype, "not known"
	if c.World > 0 {
		world = fmt.Sprint(c.World)
	}
	either := func(flag int, file *int) string {
		if flag == 0 && file != nil {
			flag = *file
		}
		return fmt.Sprint(max(1, flag))
	}
	size := "not set"
	_, set := c.Setting(trainer.WithBlocks(in.params()), r)
	if set {
		size = "set"
	}
	all := []part{
		{"world", world, false, f.World > 0},
		{"TP", fmt.Sprint(max(1, r.TP)), w.TP != 0, f.TP != nil},
		{"PP", either(w.PP, c.PP), w.PP != 0, f.PP != nil},
		{"CP", either(w.CP, c.CP), w.CP != 0, f.CP != nil},
		{"EP", fmt.Sprint(max(1, r.EP)), w.EP != 0, f.EP != nil},
		{"ZeRO", fmt.Sprint(r.Zero), w.Zero != nil, f.Zero != nil},
		{"overlap", on[r.NoOverlap], false, f.Overlap != nil},
		{"gather overlap", on[r.NoGatherOverlap], false, f.GatherOverlap != nil},
		{"accumulation", fmt.Sprint(r.Microbatches()), w.Accum != 0, f.SaysAccumulation()},
		{"types", types, w.GradDtype != "" || w.ParamDtype != "", f.SaysTypes()},
		{"optimizer", cmp.Or(w.Optimizer, c.Optimizer(), "not named"), w.Optimizer != "", f.Optimizer() != ""},
		{"bucket size", size, false, set},
	}
	if r.Instances > 1 {
		all = append(all, part{"instances or replicas", fmt.Sprint(r.Instances), w.Instances != 0, f.Instances != nil})
	}
	return all
}

// params returns the model's parameters; none if the model is unknown.
func (in Input) params() []trainer.Param {
	if in.Model == nil {
		return nil
	}
	return in.Model.Params
}

// readFrom lists each part of the run by its source (file, flag or default), and the settings that were not
// understood.
func readFrom(in Input) string {
	by := map[string][]string{}
	for _, p := range parts(in) {
		from := "default"
		switch {
		case p.flag:
			from = "flags"
		case p.file:
			from = cmp.Or(in.ConfigForm, "file")
		}
		by[from] = append(by[from], strings.TrimPrefix(p.name+" ", "types ")+p.value)
	}
	var all []string
	for _, from := range []string{cmp.Or(in.ConfigForm, "file"), "flags", "default"} {
		if len(by[from]) > 0 {
			all = append(all, from+": "+strings.Join(by[from], ", "))
		}
	}
	if len(in.ConfigUnread) > 0 {
		all = append(all, "not understood: "+strings.Join(in.ConfigUnread, ", "))
	}
	return strings.Join(all, "; ")
}
