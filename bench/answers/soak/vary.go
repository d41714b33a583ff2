package soak

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/pattern"
	"zbench/bench/base/slice"
	"zbench/bench/hardware/flush"
)

// Vary is an environment variable whose values take turns. Libraries read the variable when a process
// starts, so each value needs processes of its own.
type Vary struct {
	// Name of the variable.
	Name string `json:"name" jsonschema:"minLength=1"`
	// Values that take turns. An empty value leaves the variable unset.
	Values []string `json:"values"`
}

// The variable that restores the fence after a send, which RCCL omits on gfx942, and the variable's older
// name (ROCm/rocm-systems#10339, #7139). A library that does not know a name ignores it.
const (
	Fence       = "RCCL_CHEAP_POST_SEND_FENCE_OFF"
	FenceBefore = "RCCL_GFX9_CHEAP_FENCE_OFF"
)

// Known are the variables on which known data corruption depends, with the values to compare: the protocol
// and the algorithm, the GDR flush and its source, the fence after a send, and the number of hardware queues
// (2 in AMD's reproducer).
var Known = []Vary{
	{"NCCL_PROTO", []string{"Simple", "LL", "LL128"}},
	{"NCCL_ALGO", []string{"Ring", "Tree"}},
	{flush.Variable, []string{"0", "1"}},
	{flush.Ordering, []string{"0", "1"}},
	{Fence, []string{"0", "1"}},
	{FenceBefore, []string{"0", "1"}},
	{"GPU_MAX_HW_QUEUES", []string{"", "2"}},
}

// mostEnvironments is the largest number of combinations that take turns. Each turn starts the processes of
// its combination again.
const mostEnvironments = 64

var variableName = pattern.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// ReadVary reads NAME=VALUE,VALUE…, or the NAME of a Known variable. Each word must name a different
// variable.
func ReadVary(words []string) ([]Vary, error) {
	var all []Vary
	combinations := 1
	for _, word := range words {
		name, list, given := strings.Cut(word, "=")
		v := Vary{name, strings.Split(list, ",")}
		if i := slices.IndexFunc(Known, func(k Vary) bool { return k.Name == name }); !given && i >= 0 {
			v = Known[i]
		} else if !given {
			return nil, fmt.Errorf("%q has no values, and is none of %s", word, strings.Join(slice.Map(Known, func(k Vary) string { return k.Name }), ", "))
		}
		switch {
		case !variableName.MatchString(name):
			return nil, fmt.Errorf("%q names no variable", word)
		case len(v.Values) < 2 || len(slice.Distinct(v.Values)) < len(v.Values):
			return nil, fmt.Errorf("%q: give two values at least, each once; an empty one is the variable not set", word)
		case slices.ContainsFunc(all, func(o Vary) bool { return o.Name == name }):
			return nil, fmt.Errorf("%s is given twice", name)
		}
		if combinations *= len(v.Values); combinations > mostEnvironments {
			return nil, fmt.Errorf("the values make more than %d combinations, and each is a world of its own: leave some out", mostEnvironments)
		}
		all = append(all, v)
	}
	return all, nil
}

// combination is the factor whose levels are whole environments. Environments are counted but not compared.
const combination = "environment"

// Environment is a combination of values.
type Environment []Variable

// Environments returns all combinations; none if nothing varies.
func Environments(vary []Vary) []Environment {
	if len(vary) == 0 {
		return nil
	}
	all := []Environment{nil}
	for _, v := range vary {
		var more []Environment
		for _, e := range all {
			for _, value := range v.Values {
				more = append(more, append(slices.Clone(e), Variable{v.Name, value}))
			}
		}
		all = more
	}
	return all
}

// String returns the combination in one line.
func (e Environment) String() string {
	return strings.Join(slice.Map(e, func(v Variable) string { return v.Name + "=" + v.Value }), " ")
}

// Settings returns the levels that the environment adds to the levels of its attempts' cases.
func (e Environment) Settings() []Setting {
	return slice.Map(e, func(v Variable) Setting {
		if v.Value == "" {
			return Setting{v.Name, "not set"}
		}
		return Setting{v.Name, v.Value}
	})
}

// Over returns the variables of a process, with the combination's values in place of the process's own.
func (e Environment) Over(environ []string) []string {
	all := slice.Where(environ, func(text string) bool {
		name, _, _ := strings.Cut(text, "=")
		return !slices.ContainsFunc(e, func(v Variable) bool { return v.Name == name })
	})
	for _, v := range e {
		if v.Value != "" {
			all = append(all, v.Name+"="+v.Value)
		}
	}
	return all
}

// World is the result of one environment's world.
type World struct {
	Environment Environment
	// Document is nil if the world left none.
	Document *Document
	Attempts []Attempt
	// Failed is the reason why the world did not complete.
	Failed string
}

// Gather joins the results of several worlds; nil if none left a document.
func Gather(worlds []World) *Document {
	var d *Document
	var t Tally
	var conditions []Precondition
	names, reached := map[int]string{}, map[string][]string{}
	for _, w := range worlds {
		label := w.Environment.String()
		all := []Precondition{}
		if one := w.Document; one != nil {
			if d == nil {
				first := *one
				d, first.Complete, first.Seconds, first.LeftOut = &first, true, 0, []string{}
			}
			d.Complete, d.Seconds, d.LeftOut = d.Complete && one.Complete, d.Seconds+one.Seconds, slice.Distinct(append(d.LeftOut, one.LeftOut...))
			all = append(all, one.Preconditions...)
			for _, s := range one.Senders {
				for i, rank := range s.Ranks {
					names[rank] = s.Names[i]
				}
			}
		}
		if w.Failed != "" {
			all = append(all, Precondition{Name: "run", Text: w.Failed, Next: "set these variables, and leave --vary out"})
		}
		for _, p := range all {
			key := fmt.Sprint(p)
			if reached[key] == nil {
				conditions = append(conditions, p)
			}
			reached[key] = slice.Distinct(append(reached[key], label))
		}
		for _, a := range w.Attempts {
			a.Arms = append(slices.Clone(a.Arms), w.Environment.Settings()...)
			if len(w.Environment) > 1 {
				a.Arms = append(a.Arms, Setting{combination, label})
			}
			t.Add(a)
		}
	}
	if d == nil {
		return nil
	}
	d.Preconditions = []Precondition{}
	environments := len(slice.Distinct(slice.Map(worlds, func(w World) string { return w.Environment.String() })))
	for _, p := range conditions {
		if of := reached[fmt.Sprint(p)]; len(of) < environments {
			p.Name += " with " + strings.Join(of, "; ")
		}
		d.Preconditions = append(d.Preconditions, p)
	}
	if len(worlds) > 0 {
		d.Environment = slice.Where(d.Environment, func(v Variable) bool {
			return !slices.ContainsFunc(worlds[0].Environment, func(o Variable) bool { return o.Name == v.Name })
		})
	}
	d.Judge(&t, func(rank int) (gpu, node string) {
		node = d.Nodes[rank/d.GPUs]
		return cmp.Or(names[rank], fmt.Sprintf("GPU %d of %s (rank %d)", rank%d.GPUs, node, rank)), node
	})
	return d
}
