package main

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"zbench/bench/exit"
	"zbench/bench/fleet/rails"
	"zbench/bench/peers"
	"zbench/bench/record"
)

// readRails reads what the options name and judges it.
func readRails(s State, o *railsOptions) (*rails.Document, error) {
	switch {
	case o.logs != "":
		return o.ofLogs(s, o.logs)
	case o.times != "":
		text, err := railsInput(s, "times", o.times)
		if err != nil {
			return nil, err
		}
		t, err := rails.ReadTimes(bytes.NewReader(text))
		if err != nil {
			return nil, railsError(o.times, err)
		}
		t.Place(o.run.want.World.GPUsPerNode)
		l := rails.Arrivals(t.Calls, t.Node)
		if err := o.others.settle(&l.Verdict, t.Hosts, o.run.want.World.GPUsPerNode); err != nil {
			return nil, err
		}
		return rails.OfLateness(filepath.Base(o.times), t, l), nil
	}
	text, err := railsInput(s, "matrix", o.matrix)
	if err != nil {
		return nil, err
	}
	m, notes, err := rails.ReadMatrix(bytes.NewReader(text))
	if err != nil {
		return nil, railsError(o.matrix, err)
	}
	v := rails.JudgeMatrix(m)
	if err := o.others.settle(v, m.Nodes, o.gpusOf(m)); err != nil {
		return nil, err
	}
	return rails.OfVerdict(rails.OfMatrix, filepath.Base(o.matrix), m, v, notes), nil
}

// railsInput reads a file; a pipe up to a bound.
func railsInput(s State, flag, path string) ([]byte, error) {
	if info, err := s.FS.Stat(path); err == nil && info.IsDir() {
		return nil, usagef("give a file; `zbench rails --logs DIR` reads a folder of logs", "--%s %s is a folder", flag, path)
	}
	in, err := openInput(s, path)
	if err != nil {
		return nil, usagef("give a CSV; `zbench rails --help` has the forms", "--%s: %w", flag, err)
	}
	return in.all(s)
}

// railsError is the error of an input that cannot be read.
func railsError(path string, err error) error {
	return exit.With(exit.Run, fmt.Errorf("%s: %w", path, err), "`zbench rails --help` has the forms")
}

// railsOfLogs reads a folder of logs. A log that cannot be read is a gap with a note.
func (o *railsOptions) ofLogs(s State, dir string) (*rails.Document, error) {
	entries, err := s.FS.ReadDir(dir)
	if err != nil {
		return nil, usagef("give a folder with one log for each pair", "--logs: %w", err)
	}
	var logs []rails.Log
	var notes []string
	for _, e := range entries {
		if e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		rec, err := railsLog(s, filepath.Join(dir, e.Name()))
		if err != nil {
			notes = append(notes, fmt.Sprintf("%s: %v", e.Name(), err))
			continue
		}
		logs = append(logs, rails.Log{File: e.Name(), Record: rec})
	}
	if len(logs) == 0 {
		why := "it has no files"
		if len(notes) > 0 {
			why = notes[0]
		}
		return nil, exit.With(exit.Run, fmt.Errorf("%s has no log that can be read: %s", dir, why), "give a folder with one log of rccl-tests for each pair")
	}
	m, more, err := rails.FromLogs(logs)
	if err != nil {
		return nil, railsError(dir, errors.Join(append([]error{err}, asErrors(more)...)...))
	}
	v := rails.JudgeMatrix(m)
	if err := o.others.settle(v, m.Nodes, o.gpusOf(m)); err != nil {
		return nil, err
	}
	return rails.OfVerdict(rails.OfLogs, filepath.Base(filepath.Clean(dir)), m, v, append(more, notes...)), nil
}

// gpusOf is the number of GPUs of a node of a matrix; 0 where its ends are nodes.
func (o *railsOptions) gpusOf(m *rails.Matrix) int {
	most := -1
	for _, p := range m.At {
		most = max(most, p.GPU)
	}
	return most + 1
}

// railsLog reads one log.
func railsLog(s State, path string) (*record.Record, error) {
	in, err := openInput(s, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.close() }()
	return peers.Parse(in.body, peers.Hints{File: filepath.Base(path)})
}

func asErrors(texts []string) []error {
	var out []error
	for _, t := range texts[:min(len(texts), 3)] {
		out = append(out, errors.New(t))
	}
	return out
}
