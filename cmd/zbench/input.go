package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"zbench/bench/engine"
	"zbench/bench/exit"
	"zbench/bench/folder"
)

const (
	// headBytes are looked at to tell what a file is.
	headBytes = 200
	// maxPiped is how much of a record is read from what has no size: a pipe or a
	// device.
	maxPiped = 256 << 20
)

// input is a file that a command reads: of a log as much as it takes, of a record
// all.
type input struct {
	// file is the file that the bytes are from: for a folder the one in it.
	file string
	// head is the first bytes, which body has, too.
	head []byte
	body io.Reader
	// sized is true where the end is known to come.
	sized bool
	close func() error
}

// openInput opens a file, or where path is a folder its record.
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

// all reads what is left, and closes the file.
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
