package main

import (
	"fmt"

	"zbench/bench/advice"
	"zbench/bench/cost"
)

// assumed answers the assumed question of records that nothing was asked of; nil
// where there is nothing to answer, with a note where they contradict it.
func assumed(s State, sources ...cost.Source) *advice.Document {
	d, err := advice.AskAssumed(sources)
	if err != nil {
		fmt.Fprintf(s.Stderr, "No bucket size for assumed settings: %s\n", err)
		return nil
	}
	return d
}
