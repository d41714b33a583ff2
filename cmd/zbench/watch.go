package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zbench/bench/answers/fleet/history"
	"zbench/bench/answers/fleet/nodescreen"
	"zbench/bench/answers/fleet/nodewatch"
	"zbench/bench/base/exit"
	"zbench/bench/base/plain"
	"zbench/bench/base/spell"
	"zbench/internal/probe"
)

// watchOptions are the options of watch.
type watchOptions struct {
	probes                            nodeProbes
	as, state, root, log, metrics     string
	hook, claims, partition, printing string
	within                            time.Duration
	cap                               float64
	output
}

// hookModes are the values of --as: the kinds of callers.
var hookModes = []string{"prolog", "epilog", "healthcheck"}

func newWatch(s State) *cobra.Command {
	var o watchOptions
	cmd := &cobra.Command{
		Use: "watch", Short: "Check this node for its scheduler, against its own past", Args: noArgs,
		Long: `watch checks this node and remembers: error counters, port states, PCIe widths
and versions (as zbench topo and zbench screen read them), the kernel log since
the last check, and with --within the measurements of zbench screen. It compares
them with this node's last checks, which it keeps in --state.

It says ISOLATE (take the node out), RESET (reset or reboot it), MONITOR or
NONE. One check with hard evidence isolates: an uncorrectable error, a lost link
or GPU, a wrong width. A lower bandwidth isolates after three separate checks
and a longer measurement, which needs --within 30s or more.

With --as it is called by Slurm: it prints one line, the reason, and exits with
3 to isolate, else with 0, whatever fails in zbench itself. --cap limits how
many nodes it takes out, by claims in a folder that the nodes share, or by
Slurm: then it drains the node itself and takes that back if others were first.
Without either it isolates none. --as healthcheck measures nothing.

Without --as the exit code is 3 for ISOLATE and RESET, else 0.`,
		Example: `  zbench watch                                 counters, links, versions, log
  zbench watch --within 60s                    measurements, too
  zbench watch --as prolog --claims /shared/zbench
  zbench watch --metrics /var/lib/node_exporter/zbench.prom
  zbench watch --print slurm                   the script for slurm.conf`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runWatch(cmd.Context(), s, o) },
	}
	f := cmd.Flags()
	addLibraryFlags(cmd, &o.probes.libraries)
	o.probes.addProbeFlags(f)
	f.StringVar(&o.as, "as", "", "caller: "+strings.Join(hookModes, ", ")+"; fails open")
	f.DurationVar(&o.within, "within", 0, "also measure, in about this time: 10s, 60s (default 0s: measure nothing)")
	f.StringVar(&o.state, "state", "/var/lib/zbench", "folder of this node's memory")
	f.StringVar(&o.root, "root", "/", "read /sys and /proc below this folder")
	f.StringVar(&o.log, "kernel-log", "", "read this file (dmesg, journalctl -k) instead of the kernel's buffer")
	f.StringVar(&o.metrics, "metrics", "", "file to write for node_exporter's textfile collector, named *.prom")
	f.StringVar(&o.hook, "hook", "", "program that gets the result as JSON on its standard input")
	f.StringVar(&o.claims, "claims", "", "folder that all nodes share, for --cap and changes of the whole fleet")
	f.StringVar(&o.partition, "partition", "", "partition that sinfo counts (default all)")
	f.Float64Var(&o.cap, "cap", 5, "largest share of the nodes to take out, in per cent")
	f.StringVar(&o.printing, "print", "", "print the files to install: slurm, systemd")
	o.addFlags(f, "folder to create for watch.json and report.html")
	o.addForce(f)
	return cmd
}

func runWatch(ctx context.Context, s State, o watchOptions) error {
	if node := s.Getenv("SLURMD_NODENAME"); o.as != "" && node != "" { // this name may differ from the host name
		s.Hostname = func() string { return node }
	}
	if s.Getenv(watchReading) != "" {
		return o.reading(s)
	}
	if s.Getenv(probeVariable) != "" {
		o.probes.nodes = 1
		o.probes.seconds, _ = strconv.ParseFloat(s.Getenv(watchSeconds), 64) // 0: a number of samples decides the length instead
		return o.probes.probe(ctx, s, s.Getenv(probeVariable))
	}
	help := listedBy("watch")
	switch {
	case o.printing != "":
		return printWatch(s, o.printing)
	case o.as != "" && !slices.Contains(hookModes, o.as):
		return usage(&spell.Unknown{Kind: "caller", Given: o.as, Valid: hookModes}, help)
	case o.within != 0 && (o.within < 5*time.Second || o.within > time.Hour):
		return usagef(help, "--within must be 5s to 1h, not %s", o.within)
	case !(o.cap > 0 && o.cap <= 100):
		return usagef(help, "--cap must be above 0 and at most 100, not %g", o.cap)
	}
	if o.as == "" {
		return o.check(ctx, s)
	}
	if code := exit.CodeOf(o.failingOpen(ctx, s)); code == exit.Regression {
		return exit.Quiet(code)
	}
	return nil
}

// failingOpen checks the node for a scheduler. If zbench itself fails, it reports this and returns
// no error, so that the node stays in use.
func (o *watchOptions) failingOpen(ctx context.Context, s State) (err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("zbench itself failed: %v", broken)
		}
		if err != nil && exit.CodeOf(err) != exit.Regression {
			complain(s, fmt.Errorf("NOT CHECKED: %w", err))
		}
	}()
	return o.check(ctx, s)
}

// check makes one check.
func (o *watchOptions) check(ctx context.Context, s State) error {
	started := s.Now()
	seen := o.read(ctx, s)
	m := o.remember(s)
	defer m.release()
	if o.within > 0 && o.as == "healthcheck" {
		s.note(o.quiet, "zbench: --as healthcheck runs beside jobs: it measures nothing\n")
		o.within = 0
	}
	each := o.within / 6 // memory, products, collective, links, and the starts of their processes
	if o.within > 0 {
		o.measure(ctx, s, seen, each)
	}
	if len(seen.Node.GPUs) == 0 { // no runtime was asked for the GPUs
		seen.Node.Packages = nil
	}
	fleet, before := o.fleet(s, seen.Node.Host), m.Log
	d := nodewatch.Judge(seen, m.Memory, s.Now(), nodewatch.Fleet{Fallen: fleet.fallen})
	d.Unchecked = append(d.Unchecked, m.doubts...)
	if d.Pending() && o.within >= 30*time.Second && ctx.Err() == nil {
		longer := &nodewatch.Seen{Node: newNode(seen.Node.Host, seen.Node.Backend)}
		o.measure(ctx, s, longer, 2*each)
		d.Confirm(longer.Node)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if d.Action == nodewatch.Isolate && o.as != "" {
		if d.Withheld = fleet.withheld(ctx, d); d.Withheld != "" {
			m.Log = before // the next check reads these lines again
		}
	}
	fleet.report(d)
	d.Unchecked = append(append(d.Unchecked, m.save()...), fleet.doubts...)
	d.Unchecked = append(d.Unchecked, o.tell(ctx, s, d, seen)...)
	if o.as != "" {
		return o.answer(s, d)
	}
	return s.deliver(o.output, result{shown: d.Shown(toolVersion()), started: started})
}

// answer prints the reason for a scheduler. What was not checked goes to standard error.
func (o *watchOptions) answer(s State, d *nodewatch.Document) error {
	for _, u := range d.Unchecked {
		s.note(o.quiet, "zbench: NOT CHECKED: %s\n", plain.Line(u))
	}
	switch {
	case d.Action != nodewatch.Isolate:
		s.note(o.quiet || d.Action == nodewatch.None, "zbench: %s: %s\n", d.Action, d.Reason)
		return nil
	case d.Withheld != "":
		s.note(false, "zbench: ISOLATE: %s; not isolated: %s\n", d.Reason, d.Withheld)
		return nil
	}
	if _, err := fmt.Fprintln(s.Stdout, d.Reason); err != nil {
		return err
	}
	return exit.Quiet(exit.Regression)
}

// tell writes the metrics and starts the hook. If one of them fails, the check does not fail.
func (o *watchOptions) tell(ctx context.Context, s State, d *nodewatch.Document, seen *nodewatch.Seen) (doubts []string) {
	if o.metrics != "" {
		var text bytes.Buffer
		err := d.WriteMetrics(&text, seen.Figures())
		if err == nil {
			err = s.FS.WriteFile(o.metrics, text.Bytes())
		}
		if err != nil {
			doubts = append(doubts, fmt.Sprintf("--metrics: %s", err))
		}
	}
	if o.hook != "" {
		var text bytes.Buffer
		err := d.WriteJSON(&text)
		if err == nil {
			_, err = ran(ctx, s, Command{Argv: []string{o.hook}, Environ: s.Environ(), Input: &text}, hookLimit)
		}
		if err != nil {
			doubts = append(doubts, fmt.Sprintf("--hook %s: %s", o.hook, err))
		}
	}
	return doubts
}

// Time limits for the parts that measure nothing.
const (
	readLimit  = 4 * time.Second
	hookLimit  = 3 * time.Second
	slurmLimit = 3 * time.Second
)

// ran runs a program and returns its output. If the program does not end in time, ran kills it and
// does not wait for its end: a program in an uninterruptible read ends later, or never.
func ran(ctx context.Context, s State, c Command, limit time.Duration) ([]byte, error) {
	var text bytes.Buffer
	c.Output = &text
	child, err := s.Start(c)
	if err != nil {
		return nil, err
	}
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case e := <-endOf(child):
		if e.code != 0 {
			return nil, fmt.Errorf("its process ended early (%s): %s", e.how, plain.Line(strings.TrimSpace(text.String())))
		}
		return text.Bytes(), nil
	case <-late.C:
		err = fmt.Errorf("it has not ended within %s", limit)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	child.Kill()
	return nil, err
}

// watchReading marks the process that reads /sys and /proc.
const watchReading = "ZBENCH_WATCH_READ"

// read lets another process read the facts of this node, so that a driver that never answers cannot
// block this process.
func (o *watchOptions) read(ctx context.Context, s State) *nodewatch.Seen {
	text, err := ran(ctx, s, Command{Argv: slices.Concat(s.Program, s.Args), Environ: append(s.Environ(), watchReading+"=1")}, readLimit)
	seen := &nodewatch.Seen{}
	if err == nil {
		err = json.Unmarshal(text, seen)
	}
	if err == nil && seen.Node == nil {
		err = errors.New("its process printed nothing")
	}
	if err != nil {
		seen = &nodewatch.Seen{Node: newNode(s.Hostname(), o.probes.backend), NoLog: "not read"}
		seen.Node.Faults = []nodescreen.Fault{{Code: "no_measurement", Subject: "node", Message: "/sys, /proc and the kernel log: " + err.Error(), Next: "dmesg on the node: a driver may hang"}}
	}
	return seen
}

// reading reads the facts in that other process and prints them.
func (o *watchOptions) reading(s State) error {
	tree := treeFS{s.FS, o.root}
	seen := &nodewatch.Seen{Node: newNode(s.Hostname(), o.probes.backend)}
	t, err := probe.Facts(tree, seen.Node, s.Environ())
	if err != nil {
		return err
	}
	if o.root == "/" {
		seen.Node.Faults = append(seen.Node.Faults, preflightFaults(s)...)
	}
	seen.Facts, seen.Counters = probe.Identities(t), probe.Counters(t)
	boot, _ := tree.ReadFile("proc/sys/kernel/random/boot_id") // a recorded tree has no boot id
	seen.Boot = strings.TrimSpace(string(boot))
	var text string
	switch {
	case o.log != "":
		text, err = s.textOf(o.log)
	case s.KernelLog == nil || o.root != "/":
		err = errors.New("there is none; give --kernel-log")
	default:
		text, err = s.KernelLog()
	}
	if err != nil {
		seen.NoLog = err.Error()
	}
	seen.Log, seen.Newest = nodewatch.ReadLog(text)
	return json.NewEncoder(s.Stdout).Encode(seen)
}

// mostLog is the number of bytes that are read from the end of a kernel log.
const mostLog = 16 << 20

// textOf reads the end of a log.
func (s State) textOf(name string) (string, error) {
	f, err := s.FS.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // the file was only read
	text, err := io.ReadAll(f)
	return string(text[max(len(text)-mostLog, 0):]), err
}

// watchSeconds tells a process for how long it must measure.
const watchSeconds = "ZBENCH_WATCH_SECONDS"

// measure adds the measurements of zbench screen. One measurement may take the time `each`.
// Measurements that do not end within --within are left out.
func (o *watchOptions) measure(ctx context.Context, s State, seen *nodewatch.Seen, each time.Duration) {
	o.probes.seconds, o.probes.deadline, o.probes.nodes = each.Seconds(), max(each.Seconds(), 2), 1
	seen.For = each.String()
	ctx, cancel := context.WithTimeout(ctx, o.within)
	defer cancel()
	environ := s.Environ
	s.Environ = func() []string { return append(environ(), fmt.Sprintf("%s=%g", watchSeconds, each.Seconds())) }
	n := seen.Node
	err := s.FS.MkdirAll(nodesFolder(o.state))
	if err == nil && simulated(o.probes.backend, s) {
		err = o.simulated(ctx, s, n)
	} else if err == nil {
		if n.Backend, err = o.probes.libraries.choose(s, o.probes.backend); err == nil {
			err = o.probes.measure(ctx, s, o.state, n)
		}
	}
	if err != nil {
		n.Notes = append(n.Notes, "measurements: "+plain.Line(err.Error()))
	}
}

// simulated adds the measurements of the first node of the loopback.
func (o *watchOptions) simulated(ctx context.Context, s State, n *nodescreen.Node) error {
	if err := o.probes.simulate(ctx, s, o.state, 0, 1); err != nil {
		return err
	}
	file := filepath.Join(nodesFolder(o.state), "node0.json")
	defer s.FS.Remove(file) //nolint:errcheck // the next check overwrites the file
	text, err := s.FS.ReadFile(file)
	if err != nil {
		return err
	}
	got, err := nodescreen.ReadNode(text)
	if err != nil {
		return err
	}
	n.GPUs, n.Collective, n.Links, n.Simulated = got.GPUs, got.Collective, got.Links, true
	n.Faults, n.Facts = append(n.Faults, got.Faults...), append(n.Facts, got.Facts...)
	return nil
}

// memory is what zbench remembers about a node, with the file in which it is stored.
type memory struct {
	*history.Memory
	s       State
	name    string
	release func()
	// kept is true if the file must not be changed.
	kept   bool
	doubts []string
}

// remember reads the memory of this node. A problem with the file does not end the check.
func (o *watchOptions) remember(s State) *memory {
	m := &memory{Memory: history.New(s.Hostname()), s: s, name: filepath.Join(o.state, s.Hostname()+".history.json"), release: func() {}}
	fail := func(err error, kept bool) *memory {
		m.kept, m.doubts = kept, append(m.doubts, fmt.Sprintf("this node's past (%s): %s", m.name, err))
		return m
	}
	if err := s.FS.MkdirAll(o.state); err != nil {
		return fail(err, true)
	}
	unlock, _, err := s.FS.Lock(m.name+".lock", fmt.Sprintf("process %d", s.PID))
	if err != nil {
		return fail(err, true)
	}
	m.release = func() { _ = unlock() }
	info, err := s.FS.Stat(m.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m
	case err == nil && (!info.Mode().IsRegular() || info.Size() > history.Most):
		return fail(fmt.Errorf("it is no file, or has more than %d bytes; it stays as it is", history.Most), true)
	}
	text, err := s.FS.ReadFile(m.name)
	if err != nil {
		return fail(err, true)
	}
	read, err := history.Read(text, s.Hostname())
	switch {
	case errors.Is(err, history.ErrFuture):
		return fail(fmt.Errorf("%w; it stays as it is", err), true)
	case err != nil:
		damaged := strings.TrimSuffix(m.name, ".json") + ".damaged.json"
		unsaved := s.FS.WriteFile(damaged, text)
		return fail(fmt.Errorf("%w; it begins anew, the old file is %s", err, damaged), unsaved != nil)
	}
	m.Memory = read
	if since := s.Now().Sub(read.Last); since < 0 {
		m.doubts = append(m.doubts, fmt.Sprintf("the clock is %s behind that of the last check", -since.Round(time.Second)))
	}
	return m
}

// save writes the memory to its file.
func (m *memory) save() []string {
	if m.kept {
		return nil
	}
	var text bytes.Buffer
	err := m.WriteJSON(&text)
	if err == nil {
		err = m.s.FS.WriteFile(m.name, text.Bytes())
	}
	if err != nil {
		return []string{fmt.Sprintf("this check is not remembered: %s", err)}
	}
	return nil
}
