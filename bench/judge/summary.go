package judge

import (
	"zbench/bench/record"
	"zbench/bench/unit"
)

// Summary is a record of hbm or of kernels in a few words.
type Summary struct {
	// Memory is the row of the highest bandwidth of the memory; nil where there is none.
	Memory *record.Kernel
	// Data is what the checks of the results came to.
	Data string
	// Level is how far the times can be believed: high, medium or low; empty without times.
	Level string
	// Label says of what the figures are where they are not of a GPU: HOST MEMORY, NOT TIMED.
	Label string
}

// Summarise sums a record of hbm or of kernels up.
func Summarise(rec *record.Record) Summary {
	j := judgedKernels{rec}
	s := Summary{Data: j.dataWord(), Level: j.level()}
	if best, ofMemory := j.bestKernel(); ofMemory {
		s.Memory = best
	}
	for _, f := range j.label() {
		s.Label = map[string]string{CodeHostMemory: "HOST MEMORY", CodeNotTimed: "NOT TIMED"}[f.Code]
	}
	return s
}

// dataWord is what the checks of the results came to.
func (j judgedKernels) dataWord() string {
	if len(j.wrongData()) > 0 {
		return "WRONG"
	}
	verified := len(j.where(isVerified))
	switch verified {
	case 0:
		return "not verified"
	case len(j.Kernels):
		return "verified"
	}
	return unit.Comma(int64(verified)) + " of " + unit.Comma(int64(len(j.Kernels))) + " verified"
}
