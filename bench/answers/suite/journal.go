package suite

import "zbench/bench/base/jsonfile"

// JournalSchema is the version of suite.jsonl.
const JournalSchema = "zbench.suite-journal/1"

// Header is the first line of the journal of a suite: everything that decides what runs.
type Header struct {
	// Version of the format.
	Schema string `json:"schema"`
	// Run is the id of the run. Each line ends with this id.
	Run string `json:"-"`
	// Text is the suite's file.
	Text string `json:"text"`
	// Nodes is the number of nodes.
	Nodes int `json:"nodes"`
	// GPU is true if the rows run on hardware.
	GPU bool `json:"gpu"`
	// Common are flags that each row gets if its command has them.
	Common []string `json:"common"`
	// Before is the folder of an earlier suite; absent if no such folder was given.
	Before string `json:"before,omitempty"`
}

// Entry is a later line of the journal: the result of a row that ended.
type Entry struct {
	// Row is the name of the row.
	Row string `json:"row"`
	// Code is the exit code of the row's command; −1 after a signal.
	Code int `json:"code"`
	// Seconds is the duration of the row's last attempt.
	Seconds float64 `json:"seconds"`
	// Why says why the row has no result; absent if the row has a result.
	Why string `json:"why,omitempty"`
	// Evidence are the last lines that a failed row printed.
	Evidence []string `json:"evidence,omitempty"`
}

// Ended reports whether the row has a result that a repetition would not change: it passed, found a
// fault or wrong data, or could not tell. A row that failed, was killed or found no device is run
// again by --resume.
func (e Entry) Ended() bool { return e.Why == "" && e.end().final }

// Line returns the entry as a line of the journal.
func (e Entry) Line(run string) ([]byte, error) { return jsonfile.Line(run, e) }

// ReadJournal reads a journal by jsonfile.ReadLines.
func ReadJournal(text []byte) (Header, []Entry, error) {
	return jsonfile.ReadLines(text, func(h *Header, run string) error {
		h.Run = run
		return jsonfile.Version(h.Schema, JournalSchema)
	}, func(int, *Entry) error { return nil })
}
