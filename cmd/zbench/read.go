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

	"zbench/bench/answers/advice"
	"zbench/bench/answers/judge"
	"zbench/bench/answers/recommend"
	"zbench/bench/base/exit"
	"zbench/bench/base/folder"
	"zbench/bench/base/jsonfile"
	"zbench/bench/base/pattern"
	"zbench/bench/base/plain"
	"zbench/bench/engine"
	"zbench/bench/files/formats"
	"zbench/bench/files/peers"
	"zbench/bench/run/record"
	"zbench/internal/topo"
)

const (
	// headBytes is the number of bytes that are read to recognise the kind of a file.
	headBytes = 200
	// maxPiped is the largest number of bytes that are read of a record in a pipe or a device,
	// which have no size.
	maxPiped = 256 << 20
)

// input is a file that a command reads. A record is read as a whole, a log only up to a limit.
type input struct {
	// file is the file that is read. If the user gave a folder, it is the file in that folder.
	file string
	// head has the first bytes. body contains them, too.
	head []byte
	body io.Reader
	// sized is true if the file certainly has an end.
	sized bool
	close func() error
}

// openInput opens a file. If path is a folder, it opens the record in that folder.
func openInput(s State, path string) (*input, error) {
	switch path {
	case "":
		return nil, usagef("give a folder of zbench, its results.json, or a log", "the file name is empty")
	case "-":
		return nil, usagef("give a file, or /dev/stdin for standard input", "- is not supported")
	}
	var file io.ReadCloser
	info, err := s.FS.Stat(path)
	isFolder := err == nil && info.IsDir()
	switch {
	case isFolder:
		var text []byte
		text, path, err = readFolder(s, path)
		file = io.NopCloser(bytes.NewReader(text))
	case err == nil:
		file, err = s.FS.Open(path)
	}
	const give = "give a folder of zbench, its results.json, or a log"
	switch {
	case errors.Is(err, fs.ErrNotExist) && isFolder:
		return nil, usagef(give, "%s does not exist, and its folder has no %s", path, engine.JournalFile)
	case errors.Is(err, fs.ErrNotExist):
		return nil, usagef(give, "%s does not exist", path)
	case err != nil:
		return nil, folder.Unreadable(s.FS, path, err, give)
	}
	body := bufio.NewReader(file)
	head, err := body.Peek(headBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		_ = file.Close()
		return nil, folder.Unreadable(s.FS, path, err, give)
	}
	return &input{path, bytes.Clone(head), body, isFolder || info.Mode().IsRegular(), file.Close}, nil
}

// `all` returns the rest of the file and closes the file.
func (in *input) all(s State) ([]byte, error) {
	defer func() { _ = in.close() }()
	from := in.body
	if !in.sized {
		from = io.LimitReader(from, maxPiped+1)
	}
	text, err := io.ReadAll(from)
	switch {
	case err != nil:
		return nil, folder.Unreadable(s.FS, in.file, err, "give a folder of zbench, its results.json, or a log")
	case !in.sized && len(text) > maxPiped:
		return nil, exit.With(exit.Run, fmt.Errorf("%s is a pipe with more than %d MiB", in.file, maxPiped>>20), "write it to a file and give the file")
	}
	return text, nil
}

// readFolder reads the record of a folder. After a killed sweep it reads the journal instead: the
// folder then has no record, or only the unfinished record of an earlier run, which is older than
// the journal.
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

// runOf returns the run id in the first bytes of a record or journal, or empty text.
func runOf(text []byte) string {
	m := runPattern.FindSubmatch(text[:min(len(text), 1<<10)])
	if m == nil {
		return ""
	}
	return string(m[1])
}

// isRecord reports whether the first bytes are those of a zbench file and not of a log.
func isRecord(text []byte) bool {
	head := text[:min(len(text), 200)]
	return bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")) && bytes.Contains(head, []byte(`"zbench.`))
}

// family matches the kind of a zbench file in its first bytes.
var family = pattern.New(`"schema":\s*"zbench\.([a-z]+)/`)

// otherFile returns an error for a zbench file that is not a record. It returns nil for a record or
// a journal.
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

// isJournal reports whether a zbench file is a journal.
func isJournal(file string, text []byte) bool {
	return filepath.Base(file) == engine.JournalFile || bytes.HasPrefix(text, []byte(`{"schema":"zbench.journal/`))
}

// readLogs reads a log into a record, or each log in an archive into a record of its own. left
// names the files in an archive that are not logs. An unreadable log is a run error. A log that
// contradicts the given options is a usage error.
func readLogs(s State, path string, text io.Reader, o peers.Hints) (recs []*record.Record, left []string, err error) {
	recs, left, err = formats.Curves(filepath.Base(path), text, o)
	if err != nil {
		return nil, nil, logError(path, err, o)
	}
	for _, rec := range recs {
		rec.Tool = tool()
		if rec.Created, err = created(s); err != nil {
			return nil, nil, err
		}
	}
	return recs, left, nil
}

func logError(path string, err error, o peers.Hints) error {
	const hint = "`zbench import --help` lists what it reads"
	other, known := errors.AsType[formats.NotCurveError](err)
	if known && other.File == filepath.Base(path) {
		other.File = path
		err = other
	}
	switch {
	case errors.Is(err, formats.ErrDamaged):
		return exit.With(exit.Run, err, "give the file as it was written")
	case known && other.Holds == formats.Calls:
		return usage(err, plain.Typed("zbench", "trace", path)+" says what it sent")
	case known:
		return usage(err, other.Use)
	case errors.Is(err, peers.ErrCollective) && (o.Collective != "" || o.Ranks > 0):
		return usage(err, hint)
	}
	return exit.With(exit.Run, err, hint)
}

// mergeLogs merges the records of several logs into one, and names the files that are left out.
func mergeLogs(recs []*record.Record, left []string) (*record.Record, error) {
	rec, err := peers.Merge(recs...)
	if err != nil {
		return nil, usage(err, "import them one by one")
	}
	for _, why := range left {
		rec.Warnings = append(rec.Warnings, record.Warning{Code: "left_out", Message: why, Hint: "nothing, if it is no log of a benchmark"})
	}
	return rec, nil
}

// readLog reads all logs of a file into one record.
func readLog(s State, path string, text io.Reader) (*record.Record, error) {
	recs, left, err := readLogs(s, path, text, peers.Hints{})
	switch {
	case err != nil:
		return nil, err
	case len(recs) == 1 && left == nil:
		return recs[0], nil
	}
	rec, err := mergeLogs(recs, left)
	if err == nil {
		rec.Tool, rec.Created = recs[0].Tool, recs[0].Created
	}
	return rec, err
}

// readEither reads a record of collectives, or a log.
func readEither(s State, path string) (*record.Record, error) {
	rec, err := readAny(s, path)
	if err == nil && rec.OfKernels() {
		return nil, usagef(plain.Typed("zbench", "report", path)+" draws it", "%s is a memory or kernel record; it has no collectives", path)
	}
	return rec, err
}

// noteEdited prints a note if the content of a zbench file does not match its checksum.
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
		return readLog(s, in.file, in.body)
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

// someArgs refuses a command line without arguments.
func someArgs(hint, message string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usagef(hint, "%s", message)
		}
		return nil
	}
}

// readSource reads a record or a log. The samples come from the journal in the same folder, if it
// belongs to the same sweep.
func readSource(s State, path string) (recommend.Source, error) {
	rec, err := readEither(s, path)
	if err != nil {
		return recommend.Source{}, err
	}
	return sourceOf(s, path, rec), nil
}

// readSources reads records and logs, each named by its path.
func readSources(s State, paths []string) (all []recommend.Source, err error) {
	for _, path := range paths {
		one, err := readSource(s, path)
		if err != nil {
			return nil, err
		}
		one.Name = path
		for _, i := range one.Record.Source.Imports {
			if len(i.Skipped) > 0 {
				noteRows(s, false, i)
			}
		}
		all = append(all, one)
	}
	return all, nil
}

// sourceWith adds to a record its samples, the fault that must be fixed first, the doubt that makes
// it UNCLEAR, and the command that measures again.
func sourceWith(rec *record.Record, parts []record.Part) recommend.Source {
	of := recommend.SourceOf(rec, parts)
	of.Fault, of.Unclear, of.Again = faultOf(rec), judge.Unclear(rec), again(rec)
	return of
}

// sourceOf returns the record that was read from path, with its samples. If the journal in the
// folder cannot provide samples, a note says so, because the figures may then differ.
func sourceOf(s State, path string, rec *record.Record) recommend.Source {
	dir := path
	if info, err := s.FS.Stat(path); err != nil || !info.IsDir() {
		dir = filepath.Dir(path)
		if filepath.Base(path) != engine.ResultsFile && filepath.Base(path) != engine.JournalFile {
			return sourceWith(rec, nil)
		}
	}
	file := filepath.Join(dir, engine.JournalFile)
	text, err := s.FS.ReadFile(file)
	if err != nil {
		return sourceWith(rec, nil) // a record need not have a journal
	}
	j, err := engine.ReadJournal(file, text)
	if err == nil && (j.Header.Record.Run != rec.Run || !j.Header.Record.Created.Equal(rec.Created)) {
		err = fmt.Errorf("%s: it is of another run than the record", file)
	}
	if err != nil {
		s.note(false, "The samples of the journal are ignored: %s\n", err)
		return sourceWith(rec, nil)
	}
	return sourceWith(rec, j.Parts)
}

// checkSamples warns, in the record and on standard error, if the samples in the folder differ from
// the samples that zbench wrote.
func checkSamples(s State, file string, rec *record.Record) {
	dir := filepath.Dir(file)
	index, err := s.FS.ReadFile(filepath.Join(dir, engine.SamplesIndexFile))
	if err != nil {
		return // a record need not have samples
	}
	values, err := s.FS.ReadFile(filepath.Join(dir, engine.SamplesFile))
	if err != nil {
		return
	}
	if w := record.CheckSamples(rec, index, values); w != nil {
		rec.Warnings = append(rec.Warnings, *w)
		s.note(false, "EDITED: %s: %s.\n", dir, w.Message)
	}
}

// readAdvice reads the recommendation in the folder of a record. It returns nil if there is none,
// or if it is based on other curves than those of the record.
func readAdvice(s State, dir string, rec *record.Record) *advice.Document {
	text, err := s.FS.ReadFile(filepath.Join(dir, engine.AdviceFile))
	if err != nil {
		return nil
	}
	d, err := advice.Read(bytes.NewReader(text))
	if err == nil && !d.Of([]recommend.Source{{Record: rec}}) {
		err = errors.New("it was computed from other curves than those of the record")
	}
	if err == nil && d.Answered() && faultOf(rec) != nil {
		err = errors.New("the record shows a fault, which comes before a bucket size")
	}
	if err != nil {
		fmt.Fprintf(s.Stderr, "%s is ignored: %s\n", filepath.Join(dir, engine.AdviceFile), err)
		return nil
	}
	return d
}

// assumed answers the question about a bucket size with assumed settings, because the user gave
// none. It returns nil if the records have no suitable curves. If they contradict the assumption,
// it also prints a note.
func assumed(s State, sources ...recommend.Source) *advice.Document {
	d, err := advice.AskAssumed(sources)
	if err != nil {
		fmt.Fprintf(s.Stderr, "No bucket size for assumed settings: %s\n", err)
		return nil
	}
	return d
}

// maxInput is larger, in bytes, than any file that a user names.
const maxInput = 16 << 20

// readText reads a file that an option names, up to 16 MiB.
func readText(s State, option, name string) ([]byte, error) {
	f, err := s.FS.Open(name)
	if err != nil {
		return nil, usagef("give a file that can be read", "%s: %w", option, err)
	}
	defer f.Close() //nolint:errcheck // the file was only read
	text, err := io.ReadAll(io.LimitReader(f, maxInput+1))
	switch {
	case err != nil:
		return nil, usagef("give a file that can be read", "%s: %w", option, err)
	case len(text) > maxInput:
		return nil, usagef("give another file", "%s %s is larger than 16 MiB", option, name)
	}
	return text, nil
}

// loadNodes reads files of zbench topo. An error has the text `of` before the name of the file, and
// the user's next step `next`.
func loadNodes(s State, option, of, next string, files []string) (nodes []*topo.Node, err error) {
	for _, name := range files {
		text, err := readText(s, option, name)
		if err != nil {
			return nil, err
		}
		noteEdited(s, name, text)
		n, err := topo.Load(text)
		if err != nil {
			return nil, usagef(next, "%s%s: %w", of, name, err)
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}
