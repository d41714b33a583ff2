package formats

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"

	"zbench/bench/files/peers"
	"zbench/bench/run/record"
)

const useImport = "`zbench import` reads it"

// NotCurveError is the error about a file of a known format that has no times of collectives by
// size.
type NotCurveError struct {
	Format
	// File is the file's name.
	File string
}

func (e NotCurveError) Error() string {
	if e.Holds == Calls {
		return fmt.Sprintf("%s is %s: a trace is not a curve, its times include waiting for peers", e.File, e.Title)
	}
	return fmt.Sprintf("%s is %s, which holds no times of collectives", e.File, e.Title)
}

// maxArchive limits the bytes after decompression. The logs of any cluster have fewer bytes.
const maxArchive = 4 << 30

// maxJSON limits the bytes of a JSON file. The JSON of any sweep has fewer bytes.
const maxJSON = 512 << 20

// Curves reads the tables of a file, or of each file in an archive. The file may be compressed.
// The result left lists those files of the archive that have no table, with the reasons. If no
// file has a table, Curves returns an error. It ignores Hints.File.
func Curves(name string, r io.Reader, o peers.Hints) (recs []*record.Record, left []string, err error) {
	err = unpack(name, r, maxArchive, func(member string, r io.Reader) error {
		rec, err := curve(member, r, o)
		switch unread := notTable(err); {
		case err == nil:
			recs = append(recs, rec)
			return nil
		case member == name || !unread:
			return err
		}
		if errors.Is(err, peers.ErrNoTable) {
			err = fmt.Errorf("%s has no table of rccl-tests or nccl-tests", member)
		}
		left = append(left, err.Error())
		return nil
	})
	switch {
	case err != nil:
		return nil, nil, err
	case len(recs) == 0:
		return nil, nil, fmt.Errorf("%s: %w: none of its %d files is one; %s", name, peers.ErrNoTable, len(left), left[0])
	}
	return recs, left, nil
}

// notTable reports whether an error only means that the file has no table. Such a file of an
// archive is left out.
func notTable(err error) bool {
	_, other := errors.AsType[NotCurveError](err)
	return other || slices.ContainsFunc([]error{peers.ErrNoTable, peers.ErrFormat, peers.ErrNoRows, peers.ErrTooLarge}, func(e error) bool { return errors.Is(err, e) })
}

// curve reads one file. It reads unknown content as text, because a table may follow much other
// output.
func curve(name string, r io.Reader, o peers.Hints) (*record.Record, error) {
	in, head, err := peek(name, r)
	if err != nil {
		return nil, err
	}
	f, known := Recognise(head)
	switch {
	case !known:
		f.curve = asText
	case f.curve == nil:
		return nil, NotCurveError{f, name}
	}
	o.File = name
	rec, err := f.curve(in, o)
	if errors.Is(err, peers.ErrNoTable) {
		if other := otherForm(head); other != "" {
			err = fmt.Errorf("%s: %w: %s", name, peers.ErrFormat, other)
		}
	}
	return rec, err
}

func asText(in *Input, o peers.Hints) (*record.Record, error) { return peers.Parse(in, o) }

// rewritten returns a reader for files that hold the tools' output in another form. write converts
// a file to the tools' text or CSV. If a file breaks off, the rows before that point are read.
func rewritten(write func(io.Reader) ([]byte, error)) func(*Input, peers.Hints) (*record.Record, error) {
	return func(in *Input, o peers.Hints) (*record.Record, error) {
		hash, ends := sha256.New(), &newlines{}
		over := fmt.Errorf("%w: more than %d bytes", peers.ErrTooLarge, maxJSON)
		r := io.TeeReader(peers.Bounded(in, maxJSON, over), io.MultiWriter(hash, ends))
		rows, cut := write(r)
		if len(rows) == 0 {
			return nil, fmt.Errorf("%s: %w", in.Name, cmp.Or(cut, peers.ErrNoRows))
		}
		if _, err := io.Copy(io.Discard, r); err != nil {
			return nil, fmt.Errorf("%s: %w", in.Name, err)
		}
		rec, err := peers.Parse(bytes.NewReader(rows), o)
		if err != nil {
			return nil, err
		}
		if cut != nil {
			rec.Warnings = append(rec.Warnings, record.Warning{Code: "json_cut", Message: cut.Error() + "; the rows before that are taken", Hint: "give the whole file"})
		}
		imp := &rec.Source.Imports[0]
		imp.Lines, imp.SHA256 = ends.lines(), hex.EncodeToString(hash.Sum(nil))
		return rec, nil
	}
}

// newlines counts the lines written to it, including a last line without a newline.
type newlines struct {
	n    int
	last byte
}

func (l *newlines) Write(p []byte) (int, error) {
	if len(p) > 0 {
		l.n, l.last = l.n+bytes.Count(p, []byte("\n")), p[len(p)-1]
	}
	return len(p), nil
}

func (l *newlines) lines() int {
	if l.last == '\n' {
		return l.n
	}
	return l.n + 1
}
