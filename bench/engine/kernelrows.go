package engine

import (
	"fmt"
	"slices"

	"zbench/bench/exit"
	"zbench/bench/plan"
	"zbench/bench/record"
)

// keep leaves the jobs that measure a row of these keys, and their rows.
func (k *Kernels) keep(keys []string) error {
	kept := map[string]bool{}
	k.Jobs = slices.DeleteFunc(k.Jobs, func(j plan.Job) bool {
		wanted := slices.ContainsFunc(j.Keys, func(key string) bool { return slices.Contains(keys, key) })
		for _, key := range j.Keys {
			kept[key] = wanted
		}
		return !wanted
	})
	k.Rows = slices.DeleteFunc(k.Rows, func(r record.Kernel) bool { return !kept[r.Key] })
	k.More = nil // what follows from all rows does not follow from a part of them
	if len(k.Jobs) == 0 {
		return exit.With(exit.Usage, fmt.Errorf("none of the rows that the request names is there: %s", keys[0]), "a request for other devices or another size has other rows")
	}
	return nil
}
