package soak

import (
	"errors"
	"fmt"

	"zbench/bench/base/jsonfile"
	"zbench/bench/run/spec"
)

// JournalSchema names the version of the format of soak.jsonl.
const JournalSchema = "zbench.soak-journal/1"

// Header is the first line of a soak's journal: everything that decides what is measured.
type Header struct {
	// Version of the format.
	Schema string `json:"schema"`
	// Run is the id of the soak. Every line ends with this id.
	Run string `json:"-"`
	// Spec is the world, the sizes and the seed.
	Spec spec.Spec `json:"spec"`
	// Attempts is the largest number of attempts; 0 is no limit.
	Attempts int `json:"attempts"`
	// Launches is the number of launches per attempt.
	Launches int `json:"launches"`
	// Seconds is the time after which no attempt begins; time before a --resume does not count.
	Seconds float64 `json:"seconds"`
	// Vary are the variables whose values take turns. Each environment then has a journal of its own, and
	// this journal has no attempts.
	Vary []Vary `json:"vary,omitempty"`
}

// Line returns the attempt as a line of the soak's journal.
func (a Attempt) Line(run string) ([]byte, error) { return jsonfile.Line(run, a) }

// ReadJournal reads a journal by jsonfile.ReadLines.
func ReadJournal(text []byte) (Header, []Attempt, error) {
	return jsonfile.ReadLines(text, func(h *Header, run string) error {
		h.Run = run
		err := jsonfile.Version(h.Schema, JournalSchema)
		if err == nil && h.Spec.Sweep == nil {
			err = errors.New("it has no sweep")
		}
		return err
	}, func(number int, a *Attempt) error {
		if a.Number != number {
			return fmt.Errorf("it is attempt %d, not %d", a.Number+1, number+1)
		}
		return nil
	})
}
