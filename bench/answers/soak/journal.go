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

// JournalText returns the lines of a journal.
func JournalText(h Header, attempts []Attempt) ([]byte, error) {
	return jsonfile.Lines(h.Run, h, attempts)
}

// ReadJournal reads a journal. A last line without a newline was being written when the soak ended; it is
// left out. Any other damage is a jsonfile.LineError.
func ReadJournal(text []byte) (h Header, attempts []Attempt, err error) {
	lines, _, err := jsonfile.EachLine(text, func(number int, line []byte) (err error) {
		if number == 1 {
			h.Run, err = jsonfile.DecodeFirst(line, &h)
			if err == nil && (h.Schema != JournalSchema || h.Spec.Sweep == nil) {
				err = fmt.Errorf("its version is %q, this zbench reads %q", h.Schema, JournalSchema)
			}
			return err
		}
		var a Attempt
		if err = jsonfile.DecodeLine(line, h.Run, &a); err == nil && a.Number != len(attempts) {
			err = fmt.Errorf("it is attempt %d, not %d", a.Number+1, len(attempts)+1)
		}
		attempts = append(attempts, a)
		return err
	})
	if err == nil && lines == 0 {
		err = errors.New("it is empty")
	}
	return h, attempts, err
}
