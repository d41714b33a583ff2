package advice

import (
	"cmp"
	"fmt"
	"strings"

	"zbench/bench/spec"
)

// part is a part of a run: what it is, and whether a flag says so.
type part struct {
	name, value string
	flag        bool
}

// parts are those of a run that the answer relies on.
func parts(in Input) []part {
	c, r, w := in.Config, in.Run, in.Asked
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
	return []part{
		{"world", world, false},
		{"TP", fmt.Sprint(max(1, r.TP)), w.TP != 0},
		{"PP", either(w.PP, c.PP), w.PP != 0},
		{"CP", either(w.CP, c.CP), w.CP != 0},
		{"EP", fmt.Sprint(max(1, r.EP)), w.EP != 0},
		{"ZeRO", fmt.Sprint(r.Zero), w.Zero != nil},
		{"overlap", on[r.NoOverlap], false},
		{"gather overlap", on[r.NoGatherOverlap], false},
		{"accumulation", fmt.Sprint(r.Microbatches()), w.Accum != 0},
		{"types", types, w.GradDtype != "" || w.ParamDtype != ""},
		{"optimizer", cmp.Or(w.Optimizer, c.Optimizer(), "not named"), w.Optimizer != ""},
	}
}

// readFrom says of each part of the run what it is and whether the file, a flag or the default says so, and which
// settings were not understood.
func readFrom(in Input) string {
	by := map[string][]string{}
	for _, p := range parts(in) {
		from := "default"
		switch {
		case p.flag:
			from = "flags"
		case in.Config.InFile(p.name):
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
