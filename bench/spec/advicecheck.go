package spec

import (
	"fmt"
	"strings"
)

// Check refuses contradictory or incomplete flags. Messages name the flags.
func (a *Advice) Check() error {
	models := given(flag{"params", a.Model != nil}, flag{"preset", a.Preset != ""}, flag{"total-params", a.Total > 0})
	times := given(flag{"backward-ms", a.Backward > 0}, flag{"step-ms", a.Step > 0}, flag{"tokens-per-microbatch", a.Tokens > 0})
	switch line := a.Line(); {
	case len(models) > 1:
		return fmt.Errorf("--%s: give only one model", strings.Join(models, " and --"))
	case len(times) > 1:
		return fmt.Errorf("--%s: give only one time of a microbatch", strings.Join(times, " and --"))
	case len(line) > 0 && !a.Complete():
		return fmt.Errorf("%s is for the bucket size: add --framework or --config", line[0])
	}
	for _, n := range []struct {
		flag
		others []flag
	}{
		{flag{"layers", a.Layers > 0}, []flag{{"total-params", a.Total > 0}}},
		{flag{"largest-param", a.Largest > 0}, []flag{{"total-params", a.Total > 0}}},
		{flag{"forward-ms", a.Forward > 0}, []flag{{"backward-ms", a.Backward > 0}}},
		{flag{"tokens-per-microbatch", a.Tokens > 0}, []flag{{"tflops", a.Flops > 0}}},
		{flag{"tflops", a.Flops > 0}, []flag{{"tokens-per-microbatch", a.Tokens > 0}, {"config", a.Config != nil}}},
		{flag{"recompute", a.Recompute}, []flag{{"tokens-per-microbatch", a.Tokens > 0}, {"tflops", a.Flops > 0}}},
	} {
		if n.given && len(given(n.others...)) == 0 {
			return fmt.Errorf("--%s needs --%s", n.name, strings.Join(names(n.others), " or --"))
		}
	}
	return nil
}

// flag is a flag and whether its value is given.
type flag struct {
	name  string
	given bool
}

// given are the names of the flags that are.
func given(flags ...flag) []string {
	var list []string
	for _, f := range flags {
		if f.given {
			list = append(list, f.name)
		}
	}
	return list
}

func names(flags []flag) []string {
	list := make([]string, len(flags))
	for i, f := range flags {
		list[i] = f.name
	}
	return list
}
