package main

import (
	"fmt"

	"zbench/bench/exit"
	"zbench/bench/memory"
	"zbench/bench/record"
)

// memoryVerdict is the exit code a record earns.
func memoryVerdict(rec *memory.Record) error {
	count := map[record.Status]int{}
	var first *memory.Result
	for i, r := range rec.Results {
		count[r.Status]++
		if r.Status == record.WrongData && first == nil {
			first = &rec.Results[i]
		}
	}
	switch {
	case first != nil:
		return exit.With(exit.WrongData, fmt.Errorf("wrong data: %s on device %d: %s", first.Key, first.Device, first.Reason), "its bandwidth is not to be trusted; run it again, then look at the memory's error counters")
	case count[record.Interrupted] > 0:
		return exit.With(exit.Interrupted, fmt.Errorf("interrupted: %d of %d cases finished and are saved", count[record.OK], len(rec.Results)), "run it again for the rest")
	}
	return nil
}

// checkFaults refuses faults that would not be planted.
func (o memoryOptions) checkFaults(loopback bool) error {
	switch {
	case len(o.faults) > 0 && !loopback:
		return usagef("give --backend loopback", "--fault is for the loopback; real faults are looked for")
	case len(o.faults) > 1:
		return usagef("give one", "--fault was given %d times, and one is planted: the last", len(o.faults))
	}
	return nil
}
