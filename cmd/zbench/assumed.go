package main

import (
	"fmt"

	"zbench/bench/advice"
	"zbench/bench/recommend"
)

// assumed computes the bucket size for assumed settings if none were given; nil if the
// records have no curves for it, with a note if they contradict the assumption.
func assumed(s State, sources ...recommend.Source) *advice.Document {
	d, err := advice.AskAssumed(sources)
	if err != nil {
		fmt.Fprintf(s.Stderr, "No bucket size for assumed settings: %s\n", err)
		return nil
	}
	return d
}
