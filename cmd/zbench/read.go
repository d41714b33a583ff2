package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"zbench/bench/peers"
	"zbench/bench/record"
)

// read returns the bytes of a file, or of results.json where path is a folder,
// and the folder it lies in.
func read(s State, path string) (text []byte, dir string, err error) {
	info, err := s.FS.Stat(path)
	if err == nil && info.IsDir() {
		path = filepath.Join(path, "results.json")
	}
	if err == nil {
		text, err = s.FS.ReadFile(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", usagef("give a folder of zbench, its results.json, or a log", "%s does not exist", path)
	}
	return text, filepath.Dir(path), err
}

// isRecord tells zbench's own format from a log, by its first bytes.
func isRecord(text []byte) bool {
	head := text[:min(len(text), 200)]
	return bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")) && bytes.Contains(head, []byte(`"zbench.`))
}

// readLog reads a log into a record.
func readLog(s State, path string, text []byte, o peers.Options) (*record.Record, error) {
	o.File = filepath.Base(path)
	rec, err := peers.Parse(bytes.NewReader(text), o)
	if err != nil {
		return nil, usage(err, "zbench import --help says what can be read")
	}
	rec.Tool = tool()
	rec.Created, err = created(s)
	return rec, err
}

// readEither reads a record or a log.
func readEither(s State, path string) (*record.Record, error) {
	text, _, err := read(s, path)
	switch {
	case err != nil:
		return nil, err
	case isRecord(text):
		rec, err := record.Decode(bytes.NewReader(text))
		if err != nil {
			return nil, &codeError{exitRun, fmt.Errorf("%s: %w", path, err), "make it again, or read it with the zbench that wrote it"}
		}
		return rec, nil
	}
	return readLog(s, path, text, peers.Options{})
}

func oneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usagef(cmd.CommandPath()+" --help shows the usage", "%s takes %s, got %d arguments", cmd.CommandPath(), what, len(args))
		}
		return nil
	}
}
