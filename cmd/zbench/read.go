package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"zbench/bench/engine"
	"zbench/bench/exit"
	"zbench/bench/formats"
	"zbench/bench/jsonfile"
	"zbench/bench/judge"
	"zbench/bench/pattern"
	"zbench/bench/peers"
	"zbench/bench/plain"
	"zbench/bench/record"
)

// read returns the bytes of a file, or where path is a folder those of its
// record, and the file they are from.
func read(s State, path string) (text []byte, file string, err error) {
	in, err := openInput(s, path)
	if err != nil {
		return nil, "", err
	}
	text, err = in.all(s)
	return text, in.file, err
}

// readFolder takes the record of a folder, or its journal where the sweep was
// killed: then there is no record, or one that an earlier run left unfinished and
// that the journal may be ahead of.
func readFolder(s State, dir string) (text []byte, file string, err error) {
	file = filepath.Join(dir, "results.json")
	text, err = s.FS.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && !bytes.Contains(text, []byte(`"status": "interrupted"`)) {
		return text, file, err
	}
	more, missing := s.FS.ReadFile(filepath.Join(dir, engine.JournalFile))
	if missing != nil {
		return text, file, err
	}
	if a, b := runOf(text), runOf(more); err == nil && a != b && a != "" && b != "" {
		return nil, file, exit.With(exit.Run, fmt.Errorf("%s and %s are of different runs", file, engine.JournalFile), "give one of the two files: "+plain.Typed("zbench", "report", file))
	}
	return more, filepath.Join(dir, engine.JournalFile), nil
}

var runPattern = pattern.New(`"run":\s*"([0-9a-f]{32})"`)

// runOf is the id of the run of a record or of a journal, by its first bytes; empty where it
// has none.
func runOf(text []byte) string {
	m := runPattern.FindSubmatch(text[:min(len(text), 1<<10)])
	if m == nil {
		return ""
	}
	return string(m[1])
}

// isRecord tells zbench's own format from a log, by its first bytes.
func isRecord(text []byte) bool {
	head := text[:min(len(text), 200)]
	return bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")) && bytes.Contains(head, []byte(`"zbench.`))
}

// family finds the kind of a file of zbench's by its first bytes.
var family = pattern.New(`"schema":\s*"zbench\.([a-z]+)/`)

// otherFile is the error for a zbench file that is not a record; nil for a record or a
// journal.
func otherFile(path string, text []byte) error {
	m := family.FindSubmatch(text[:min(len(text), 200)])
	if m == nil {
		return nil
	}
	switch kind := string(m[1]); kind {
	case "results", "journal":
		return nil
	default:
		return usagef("give its folder, or the results.json in that folder", "%s is zbench's %s file, not a record", path, kind)
	}
}

// isJournal tells a journal from a record.
func isJournal(file string, text []byte) bool {
	return filepath.Base(file) == engine.JournalFile || bytes.HasPrefix(text, []byte(`{"schema":"zbench.journal/`))
}

// readLog reads a log into a record. A log that cannot be read is an error of the
// run; one that contradicts what was given with it is wrong usage.
func readLog(s State, path string, text io.Reader, o peers.Hints) (*record.Record, error) {
	body := bufio.NewReaderSize(text, formats.Head)
	if err := isTrace(path, body); err != nil {
		return nil, err
	}
	o.File, text = filepath.Base(path), body
	rec, err := peers.Parse(text, o)
	if err != nil {
		const hint = "`zbench import --help` lists what it reads"
		if errors.Is(err, peers.ErrCollective) && (o.Collective != "" || o.Ranks > 0) {
			return nil, usage(err, hint)
		}
		return nil, exit.With(exit.Run, err, hint)
	}
	rec.Tool = tool()
	rec.Created, err = created(s)
	return rec, err
}

// readEither reads a record of collectives or a log.
func readEither(s State, path string) (*record.Record, error) {
	rec, err := readAny(s, path)
	if err == nil && rec.OfKernels() {
		return nil, usagef(plain.Typed("zbench", "report", path)+" draws it", "%s is a memory or kernel record; it has no collectives", path)
	}
	return rec, err
}

// noteEdited says of a file of zbench's that its content does not fit its checksum.
func noteEdited(s State, file string, text []byte) {
	if jsonfile.Edited(text) {
		s.note(false, "%s was EDITED after zbench wrote it: its content does not fit its checksum.\n", file)
	}
}

// readAny reads a record of any benchmark, or a log.
func readAny(s State, path string) (*record.Record, error) {
	in, err := openInput(s, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.close() }()
	if err := otherFile(in.file, in.head); err != nil {
		return nil, err
	}
	journal := isJournal(in.file, in.head)
	if !journal && !isRecord(in.head) {
		return readLog(s, in.file, in.body, peers.Hints{})
	}
	text, err := in.all(s)
	if err != nil {
		return nil, err
	}
	path = in.file
	if journal {
		j, err := engine.ReadJournal(path, text)
		if err != nil {
			return nil, err
		}
		return j.Record(), nil
	}
	noteEdited(s, path, text)
	rec, err := record.Decode(bytes.NewReader(text))
	if err != nil {
		hint := "write it again, or read it with the zbench that wrote it"
		beside := filepath.Join(filepath.Dir(path), engine.JournalFile)
		if _, none := s.FS.Stat(beside); none == nil {
			hint += "; " + plain.Typed("zbench", "report", beside) + " reads what was measured"
		}
		return nil, exit.With(exit.Run, fmt.Errorf("%s: %w", path, err), hint)
	}
	judge.Read(rec)
	return rec, nil
}

func oneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usagef("`"+cmd.CommandPath()+" --help` shows the usage", "%s takes %s, got %d arguments", cmd.CommandPath(), what, len(args))
		}
		return nil
	}
}
