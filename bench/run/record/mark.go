package record

import (
	"fmt"
	"strings"
)

// Mark returns the phrase that every chart and table of the record must show: SIMULATED, faults
// planted, imported from a file, or nothing for a measurement.
func Mark(rec *Record) string {
	var parts []string
	if rec.Simulated {
		parts = append(parts, "SIMULATED")
	}
	if len(FaultsOf(rec)) > 0 {
		parts = append(parts, "faults planted")
	}
	if from := ImportedFrom(rec); from != "" {
		parts = append(parts, from)
	}
	return strings.Join(parts, " · ")
}

// ImportedFrom names the files of an import; empty for others.
func ImportedFrom(rec *Record) string {
	if rec.Source.Kind != Imported && len(rec.Source.Imports) == 0 {
		return ""
	}
	switch files := rec.Source.Imports; len(files) {
	case 0:
		return "imported"
	case 1:
		return "imported from " + files[0].File
	default:
		return fmt.Sprintf("imported from %s and %d more", files[0].File, len(files)-1)
	}
}

// FaultsOf returns the planted faults of the simulation.
func FaultsOf(rec *Record) []string {
	if rec.Spec == nil {
		return nil
	}
	return rec.Spec.Faults
}
