package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"zbench/bench/engine"
	"zbench/bench/exit"
	"zbench/bench/pairwise"
	"zbench/bench/peers"
	"zbench/bench/rails"
	"zbench/bench/record"
	"zbench/report"
)

// railsOptions are the options of rails.
type railsOptions struct {
	matrix, logs, times, out, format string
	gpusPerNode                      int
	force                            bool
}

func newRails(s State) *cobra.Command {
	var o railsOptions
	cmd := &cobra.Command{
		Use: "rails", Short: "Name the slow node, GPU, link or rank in measured pairs or times", Args: noArgs,
		Long: `rails reads what other tools measured and names the component that is slow. It
compares with the median of the same data. Each finding has the share lost, a
confidence and its reasons; what the data cannot decide is listed with the
candidates.

--matrix reads bandwidths of pairs: a line for each pair (NAME,NAME,GB/s), or a
square with names in its first line and column. Pairs may be missing. A unit in
the header is read: GB/s, Gb/s, MB/s, GiB/s. A name is a node, or NODE:GPU. In a
square of at most 16 numbers the names are GPUs of one node.

--logs reads a folder with one log of rccl-tests or nccl-tests for each pair.
The pair is the two hosts that the log lists, else the name of the file:
NODE__NODE.log, or 0_1.log for GPUs. It compares the bus bandwidth of the
largest size that most logs have.

--times reads the collectives of a running job: rank, collective, bytes, start,
duration, and optionally host. It names the rank that arrives last, which has
the shortest duration. Clocks may differ. A header names the columns and their
unit (start_us, duration_ms); without one they are seconds.

The exit code is 0 if nothing is slow, 3 if a component is named, and 6 if the
data cannot tell.`,
		Example: `  zbench rails --matrix pairs.csv
  zbench rails --matrix pairs.csv --out checked   report.html, pass.txt, fail.txt
  srun --exclude=./checked/fail.txt …             the next job without them
  zbench rails --logs DIR                         one log for each pair
  zbench rails --times calls.csv --gpus-per-node 8`,
		RunE: func(*cobra.Command, []string) error { return runRails(s, o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.matrix, "matrix", "", "file with bandwidths of pairs")
	f.StringVar(&o.logs, "logs", "", "folder with logs of pairs")
	f.StringVar(&o.times, "times", "", "file with times of ranks")
	f.IntVar(&o.gpusPerNode, "gpus-per-node", 0, "ranks of a node, in order, if --times has no host column")
	f.StringVar(&o.out, "out", "", "folder to create for rails.json, report.html, pass.txt and fail.txt")
	f.BoolVar(&o.force, "force", false, "write into a folder that has files")
	railsDocument.flag(f, &o.format)
	return cmd
}

func runRails(s State, o railsOptions) error {
	const help = "zbench rails --help lists the flags"
	if err := railsDocument.check(o.format, help); err != nil {
		return err
	}
	given := 0
	for _, name := range []string{o.matrix, o.logs, o.times} {
		if name != "" {
			given++
		}
	}
	switch {
	case given == 0:
		return usagef("give --matrix FILE, --logs DIR or --times FILE; zbench rails --help has the forms", "rails needs data: this version reads what others measured and has no measurement of its own")
	case given > 1:
		return usagef("run them one by one", "--matrix, --logs and --times exclude each other")
	case o.gpusPerNode < 0 || o.gpusPerNode > 0 && o.times == "":
		return usagef("leave it out", "--gpus-per-node is %d; it is at least 1, and for --times", o.gpusPerNode)
	}
	d, err := readRails(s, o)
	if err != nil {
		return err
	}
	if o.out != "" {
		if err := writeRails(s, o, d); err != nil {
			return err
		}
	}
	if _, err := railsDocument.print(s, o.format, d); err != nil {
		return err
	}
	if o.out != "" {
		fmt.Fprintf(s.Stderr, "Wrote %s\n", filepath.Join(o.out, "report.html"))
	}
	switch d.State {
	case rails.Faulty:
		return quietError{exit.Regression}
	case rails.Healthy:
		return nil
	default:
		return quietError{exit.Want}
	}
}

// readRails reads what the options name and judges it.
func readRails(s State, o railsOptions) (*pairwise.Document, error) {
	switch {
	case o.logs != "":
		return railsOfLogs(s, o.logs)
	case o.times != "":
		text, err := railsInput(s, "times", o.times)
		if err != nil {
			return nil, err
		}
		t, err := pairwise.ReadTimes(bytes.NewReader(text))
		if err != nil {
			return nil, railsError(o.times, err)
		}
		if o.gpusPerNode > 0 {
			t.Place(o.gpusPerNode)
		}
		return pairwise.OfLateness(filepath.Base(o.times), t, rails.Arrivals(t.Calls, t.Node)), nil
	}
	text, err := railsInput(s, "matrix", o.matrix)
	if err != nil {
		return nil, err
	}
	m, notes, err := pairwise.ReadMatrix(bytes.NewReader(text))
	if err != nil {
		return nil, railsError(o.matrix, err)
	}
	return pairwise.OfVerdict(pairwise.OfMatrix, filepath.Base(o.matrix), m, rails.JudgeMatrix(m), notes), nil
}

// railsInput reads a file; a pipe up to a bound.
func railsInput(s State, flag, path string) ([]byte, error) {
	if info, err := s.FS.Stat(path); err == nil && info.IsDir() {
		return nil, usagef("give a file; zbench rails --logs reads a folder of logs", "--%s %s is a folder", flag, path)
	}
	in, err := openInput(s, path)
	if err != nil {
		return nil, usagef("give a CSV; zbench rails --help has the forms", "--%s: %w", flag, err)
	}
	return in.all(s)
}

// railsError is the error of an input that cannot be read.
func railsError(path string, err error) error {
	return exit.With(exit.Run, fmt.Errorf("%s: %w", path, err), "zbench rails --help has the forms")
}

// railsOfLogs reads a folder of logs. A log that cannot be read is a gap with a note.
func railsOfLogs(s State, dir string) (*pairwise.Document, error) {
	entries, err := s.FS.ReadDir(dir)
	if err != nil {
		return nil, usagef("give a folder with one log for each pair", "--logs: %w", err)
	}
	var logs []pairwise.Log
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
		logs = append(logs, pairwise.Log{File: e.Name(), Record: rec})
	}
	if len(logs) == 0 {
		why := "it has no files"
		if len(notes) > 0 {
			why = notes[0]
		}
		return nil, exit.With(exit.Run, fmt.Errorf("%s has no log that can be read: %s", dir, why), "give a folder with one log of rccl-tests for each pair")
	}
	m, more, err := pairwise.FromLogs(logs)
	if err != nil {
		return nil, railsError(dir, errors.Join(append([]error{err}, asErrors(more)...)...))
	}
	return pairwise.OfVerdict(pairwise.OfLogs, filepath.Base(filepath.Clean(dir)), m, rails.JudgeMatrix(m), append(more, notes...)), nil
}

// railsLog reads one log.
func railsLog(s State, path string) (*record.Record, error) {
	in, err := openInput(s, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.close() }()
	return peers.Parse(in.body, peers.Options{File: filepath.Base(path)})
}

func asErrors(texts []string) []error {
	var out []error
	for _, t := range texts[:min(len(texts), 3)] {
		out = append(out, errors.New(t))
	}
	return out
}

// writeRails writes the folder.
func writeRails(s State, o railsOptions, d *pairwise.Document) error {
	started := s.Now()
	dir, err := engine.NewFolder(s.host(false), o.out, "rails", o.force)
	if err != nil {
		return err
	}
	defer dir.Close() //nolint:errcheck // a lock that stays is taken over by the next run
	page := report.Rails(d, toolVersion())
	files := []struct {
		name string
		fill func(io.Writer) error
	}{
		{"rails.json", d.WriteJSON},
		{"report.html", func(w io.Writer) error { return report.WriteHTML(w, page) }},
		{"pass.txt", railsNames(d.Pass)},
		{"fail.txt", railsNames(d.Fail)},
		{"unclear.txt", railsNames(d.Unclear)},
	}
	for _, f := range files {
		if err := dir.Write(f.name, f.fill); err != nil {
			return err
		}
	}
	return writeRun(dir, s, started)
}

func railsNames(names []string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, pairwise.Lines(names))
		return err
	}
}
