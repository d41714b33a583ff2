package judge

import (
	"zbench/bench/base/unit"
	"zbench/bench/run/record"
)

// Summary describes a record of hbm or of kernels in a few words.
type Summary struct {
	// Memory is the row of the highest memory bandwidth; nil if there is none.
	Memory *record.Kernel
	// Data is the result of the checks.
	Data string
	// Level is the confidence in the times: high, medium or low; empty without times.
	Level string
	// Label names the source of figures that are not a GPU's: HOST MEMORY, NOT TIMED.
	Label string
}

// Summarise summarises a record of hbm or of kernels.
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

// dataWord returns the result of the checks.
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
