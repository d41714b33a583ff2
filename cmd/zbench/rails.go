package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"zbench/bench/answers/fleet/rails"
	"zbench/bench/base/exit"
	"zbench/bench/base/folder"
	"zbench/bench/base/slice"
	"zbench/bench/run/record"
)

// railsOptions are the options of the command rails.
type railsOptions struct {
	// run says how the processes start and which world they measure. Its sweep is a single message.
	run worldRun
	// matrix, logs and times are paths of other people's measurements; empty if not given.
	matrix, logs, times string
	measureOptions
	witness witnessOptions
	// `others` has the content of the files that the options in witness name. It is nil until they
	// are read.
	others *witnesses
}

// measureOptions say what a survey measures, and which thresholds its times are compared with.
type measureOptions struct {
	launches, rounds int
	profile, leaves  string
}

var railsHelp = listedBy("rails")

const railsLong = `rails measures messages between pairs of GPUs and names the component that is
slow: an xGMI link, a GPU, a rail (NIC), a node or a leaf switch. It times all
pairs of GPUs within each node, a ring on each rail, and about log2(N) rounds of
disjoint pairs of nodes on all rails at once. Suspects are then measured again
with nodes that are not suspect. Each round is one launch on the communicator of
all ranks. The processes start as those of zbench collectives do.

It compares with the median of the same fleet, and with --profile if given: a
CSV with a line for each figure (network or xgmi, rate of a message, source).
--leaves is a CSV of the leaf switches (node, rail, switch). Each finding has
the share lost, a confidence and its reasons; what the data cannot decide is
listed with the candidates.

Where the NICs have byte counters, a ring then runs through one GPU of every
node at a time, and the counters tell which NIC carried its bytes. A GPU that
sends through another NIC than the nearest by PCI parents is a crossed rail.

--topo, --screen and --ras give what other sources say of the nodes: files of
zbench topo, the folder of zbench screen, an answer of RCCL's RAS service. They
are joined with the times and the counters of the NICs: one component is named,
or the candidates are listed where sources contradict each other. The leaf
switches of --topo are used where --leaves is not given.

The same is done for data from elsewhere:

--matrix reads bandwidths of pairs: a line for each pair (NAME,NAME,GB/s), or a
square with names in its first line and column. Pairs may be missing. A unit in
the header is read: GB/s, Gb/s, MB/s, GiB/s. More than three columns need a
header that names both ends (node_a, src, from, gpu_a) and the bandwidth (GB/s,
busbw). A name is a node, or NODE:GPU. In a square of at most 16 numbers the
names are GPUs of one node. The output of TransferBench (a2a),
rocm_bandwidth_test, p2pBandwidthLatencyTest and nvbandwidth is read as it is.

--logs reads a folder with one log of rccl-tests or nccl-tests for each pair.
The pair is the two hosts that the log lists, else the name of the file:
NODE__NODE.log, or 0_1.log for GPUs. It compares the bus bandwidth of the
largest size that most logs have.

--times reads the collectives of a running job: rank, collective, bytes, start,
duration, and optionally host. It names the rank that arrives last, which has
the shortest duration, more often than chance. Clocks may differ. A header names
the columns and their unit (start_us, duration_ms); without one it is seconds.

The exit code is 0 if nothing is slow, 3 if a component is named, and 6 if the
data cannot tell: two nodes of which one is slow, or values in two groups. No
node is then in pass.txt.`

func newRails(s State) *cobra.Command {
	var o railsOptions
	cmd := &cobra.Command{
		Use: "rails", Short: "Name the slow xGMI link, GPU, rail, node or rank", Args: noArgs,
		Long: railsLong,
		Example: `  zbench rails --nodes 128                        measure, in an allocation
  zbench rails --nodes 128 --backend loopback --fault slow_rail:node=5,rail=2,left=0.8
  zbench rails --rounds 20                        also faults that come and go
  srun --exclude=./checked/fail.txt …             the next job without these
  zbench rails --matrix pairs.csv --out checked   report.html, pass.txt, fail.txt
  zbench rails --logs DIR                         one log for each pair
  zbench rails --times calls.csv --gpus-per-node 8`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.input() == 0 {
				return o.run.start(cmd.Context(), s, func(ctx context.Context) error { return o.measure(ctx, s, cmd) })
			}
			return interruptible(func(*cobra.Command, []string) error { return runRails(s, &o, cmd) })(cmd, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.matrix, "matrix", "", "file with bandwidths of pairs")
	f.StringVar(&o.logs, "logs", "", "folder with logs of pairs")
	f.StringVar(&o.times, "times", "", "file with times of ranks; --gpus-per-node is then the number of ranks of a node")
	o.run.addFlags(f, "folder to create for rails.json, report.html, rounds.csv, pass.txt and fail.txt (default a new dated one if zbench measures)")
	o.run.addForce(f)
	o.witness.addFlags(f)
	addMeasureFlags(cmd, &o)
	return cmd
}

// input returns how many inputs the user gave. If it returns 0, zbench runs its own measurement.
func (o *railsOptions) input() int {
	return slice.Count([]string{o.matrix, o.logs, o.times}, func(name string) bool { return name != "" })
}

// runRails judges other people's measurements.
func runRails(s State, o *railsOptions, cmd *cobra.Command) error {
	if o.input() > 1 {
		return usagef("run them one by one", "--matrix, --logs and --times exclude each other")
	}
	for _, name := range measuring(cmd) {
		if name != "gpus-per-node" || o.times == "" {
			return usagef("leave it out, or leave out --matrix, --logs and --times", "--%s is for what zbench measures itself", name)
		}
	}
	started := s.Now()
	var err error
	if o.others, err = readWitnesses(s, &o.witness); err != nil {
		return err
	}
	d, err := readRails(s, o)
	if err != nil {
		return err
	}
	r := o.result(s, d)
	r.started = started
	return s.deliver(o.run.brief(), r)
}

// result returns a judgement together with the lists of nodes.
func (o *railsOptions) result(s State, d *rails.Document, more ...artifact) result {
	r := result{shown: d.Shown(toolVersion())}
	r.files = whole(r.shown, append(nodeLists(d.Pass, d.Fail, d.Unclear), more...)...)
	r.after = func(dir *folder.Folder) { s.note(o.run.quiet, "Wrote %s\n", dir.File("report.html")) }
	return r
}

// readRails reads and judges the input that the options name.
func readRails(s State, o *railsOptions) (*rails.Document, error) {
	switch {
	case o.logs != "":
		return o.ofLogs(s, o.logs)
	case o.times != "":
		t, err := readTable(s, "times", o.times, rails.ReadTimes)
		if err != nil {
			return nil, err
		}
		t.Place(o.run.want.World.GPUsPerNode)
		l := rails.Arrivals(t.Calls, t.Node)
		if err := o.others.settle(&l.Verdict, t.Hosts, o.run.want.World.GPUsPerNode); err != nil {
			return nil, err
		}
		return rails.OfLateness(filepath.Base(o.times), t, l), nil
	}
	var notes []string
	m, err := readTable(s, "matrix", o.matrix, func(r io.Reader) (m *rails.Matrix, err error) {
		m, notes, err = rails.ReadMatrix(r)
		return m, err
	})
	if err != nil {
		return nil, err
	}
	return o.ofMatrix(rails.OfMatrix, o.matrix, m, notes)
}

// ofMatrix judges a matrix of bandwidths between pairs. The matrix was read from path.
func (o *railsOptions) ofMatrix(kind, path string, m *rails.Matrix, notes []string) (*rails.Document, error) {
	v := rails.Judge(m.Data())
	gpus := slice.Most(m.At, func(p rails.Place) int { return p.GPU + 1 }) // GPUs per node; 0 if the matrix is between nodes
	if err := o.others.settle(v, m.Nodes, gpus); err != nil {
		return nil, err
	}
	return rails.OfVerdict(kind, filepath.Base(path), m, v, notes), nil
}

// readTable reads one of the files that rails accepts.
func readTable[T any](s State, flag, path string, read func(io.Reader) (T, error)) (out T, err error) {
	text, err := railsInput(s, flag, path)
	if err != nil {
		return out, err
	}
	if out, err = read(bytes.NewReader(text)); err != nil {
		err = railsError(path, err)
	}
	return out, err
}

// railsInput reads a file. From a pipe it reads only up to a limit.
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

// railsError returns the error about an input that cannot be read.
func railsError(path string, err error) error {
	return exit.With(exit.Run, fmt.Errorf("%s: %w", path, err), "`zbench rails --help` has the forms")
}

// ofLogs judges a folder of logs. An unreadable log counts as a missing pair, with a note.
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
		for _, note := range more[:min(len(more), 3)] {
			err = errors.Join(err, errors.New(note))
		}
		return nil, railsError(dir, err)
	}
	return o.ofMatrix(rails.OfLogs, filepath.Clean(dir), m, append(more, notes...))
}

// railsLog reads one log.
func railsLog(s State, path string) (*record.Record, error) {
	in, err := openInput(s, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.close() }()
	return readLog(s, in.file, in.body)
}
