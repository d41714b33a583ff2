package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"zbench/bench/base/folder"
	"zbench/bench/base/plain"
	"zbench/bench/engine"
	"zbench/bench/files/peers"
	"zbench/bench/run/record"
)

func newImport(s State) *cobra.Command {
	var o peers.Hints
	var to output
	cmd := &cobra.Command{
		Use:   "import LOG…",
		Short: "Read rccl-tests or nccl-tests output into a record",
		Long: `Reads the output of rccl-tests and nccl-tests, from a job's log, a CSV or their
JSON, also gzip and tar.gz, and writes a folder like that of the collectives
command. A file is recognised by its content. A logger may have put text in
front of each line, or keep the lines as JSON. Several logs of one cluster make
one record. Ambiguous rows are skipped; they
are counted and named. Tables that differ by more than 30 %, or lack a device
list, are runs of their own. --collective decides where the rows fit several
collectives.`,
		Example: "  zbench import all_reduce.log all_gather.log --out cluster-a",
		Args:    someArgs("`zbench import all_reduce.log`", "import needs at least one log"),
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case o.Ranks < 0 || o.Nodes < 0:
				return usagef("leave them out if the log has them", "--ranks is %d and --nodes %d; both must be at least 1", o.Ranks, o.Nodes)
			case o.Ranks > 0 && o.Nodes > o.Ranks:
				return usagef("give the nodes that the ranks are on", "--nodes is %d; %d ranks can be on at most %d nodes", o.Nodes, o.Ranks, o.Ranks)
			}
			if err := to.gates.read(); err != nil {
				return err
			}
			return runImport(s, args, o, to)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Collective, "collective", "", "the collective, if the log lacks it")
	f.IntVar(&o.Nodes, "nodes", 0, "number of nodes, if the log lacks it")
	f.IntVar(&o.Ranks, "ranks", 0, "number of ranks, if the log lacks it")
	to.addFlags(f, "folder to create (default a new dated one)")
	addGateFlags(f, &to.gates)
	to.addFail(f)
	to.addVerbose(f, allColumns)
	to.addForce(f)
	return cmd
}

func runImport(s State, logs []string, o peers.Hints, to output) error {
	started := s.Now()
	var recs []*record.Record
	var left []string
	for _, path := range logs {
		some, out, err := importLogs(s, path, o)
		if err != nil {
			return err
		}
		recs, left = append(recs, some...), append(left, out...)
	}
	rec, err := mergeLogs(recs, left)
	if err != nil {
		return err
	}
	return keepImport(s, rec, started, to)
}

// importLogs reads a log, or all logs in an archive. It reads a stream, because the log may be a
// pipe.
func importLogs(s State, path string, o peers.Hints) (recs []*record.Record, left []string, err error) {
	in, err := openInput(s, path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = in.close() }()
	if err := otherFile(path, in.head); err != nil {
		return nil, nil, err
	}
	if isRecord(in.head) {
		return nil, nil, usagef(plain.Typed("zbench", "report", path)+" draws it", "%s is a zbench record already", path)
	}
	return readLogs(s, path, in.body, o)
}

// keepImport writes the folder, prints the record and lists the skipped rows.
func keepImport(s State, rec *record.Record, started time.Time, to output) error {
	dir, err := folder.New(s.host(false), to.out, "import", to.force)
	if err != nil {
		return err
	}
	defer dir.Close() //nolint:errcheck // the next run replaces a lock that remains
	if err := engine.WriteRecord(dir, rec); err != nil {
		return err
	}
	d := assumed(s, sourceWith(rec, nil))
	if d.Kept() {
		if err := dir.Write(engine.AdviceFile, d.WriteJSON); err != nil {
			return err
		}
	}
	r := shownRecord{Record: rec, advice: d, folder: dir.Path}.result(s, to, dir, to.fail)
	r.started, r.after = started, func(dir *folder.Folder) { noteImport(s, to.quiet, dir, rec) }
	return s.deliver(to, r)
}

// noteRows prints how many rows of a log were read, and why others were skipped.
func noteRows(s State, quiet bool, i record.Import) {
	if quiet && len(i.Skipped) == 0 {
		return
	}
	fmt.Fprintf(s.Stderr, "%s: %d rows read", i.File, i.Rows)
	for _, skip := range i.Skipped {
		fmt.Fprintf(s.Stderr, "; %d skipped: %s", skip.Count, skip.Reason)
	}
	fmt.Fprint(s.Stderr, "\n")
}

// noteImport prints how many rows of each log were read or skipped, and the folder.
func noteImport(s State, quiet bool, dir *folder.Folder, rec *record.Record) {
	for _, i := range rec.Source.Imports {
		noteRows(s, quiet, i)
	}
	for _, w := range rec.Warnings {
		fmt.Fprintf(s.Stderr, "warning (%s): %s\n  → %s\n", w.Code, w.Message, w.Hint)
	}
	s.note(quiet, "Wrote %s\n", dir.Path)
}
