package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"zbench/bench/base/jsonfile"
	"zbench/bench/base/plain"
	"zbench/bench/files/trace"
	"zbench/bench/job/trainer"
	"zbench/bench/run/spec"
	"zbench/bench/show/document"
	"zbench/bench/work/fabric"
)

func newTrace(s State) *cobra.Command {
	var o output
	var chakra bool
	cmd := &cobra.Command{
		Use:   "trace FILE…",
		Short: "Say what a job sent and what it waited for, from its trace or log",
		Long: `Reads what ranks of one job called: traces of PyTorch's profiler, PyTorch's and
Chakra's execution traces, logs of NCCL_DEBUG_SUBSYS=COLL, NCCL's Inspector and
RCCL's ACCL profiler, and the dumps of PyTorch's flight recorder (pickle or
JSON); also gzip, tar.gz, and a folder with a file a rank. A file is recognised
by its content.

It says which collectives of which sizes a step has, which gradient buckets the
trainer formed and which limits explain them, what is hidden behind computation
and, of all ranks of a group, who waits for whom. A kernel's time includes
waiting for peers: a trace is not a curve, and no bandwidth is made of it.

The exit code is 0, and 6 where no file has a collective; with --fail it is 3 if
ranks call different collectives.`,
		Example: "  zbench trace rank0.pt.trace.json.gz\n  zbench trace TRACES --out trace",
		Args:    someArgs("`zbench trace --help` lists what it reads", "trace needs a file, or a folder with a file a rank"),
		RunE:    func(_ *cobra.Command, args []string) error { return runTrace(s, args, o, chakra) },
	}
	f := cmd.Flags()
	o.addFlags(f, "folder to create for trace.json, report.html, requests of sweeps for --spec, and the gradients' params.csv")
	addChakra(f, &chakra, "the calls of each rank, and the computation between them,")
	o.addFail(f)
	o.addForce(f)
	return cmd
}

func runTrace(s State, args []string, o output, chakra bool) error {
	if err := checkChakra(chakra, o); err != nil {
		return err
	}
	o.bare = true
	r := result{started: s.Now()}
	t, err := readTraces(s, args)
	if err != nil {
		return err
	}
	d := trace.Answer(t, reachOf(t.Device))
	next, specs := toMeasure(d, o.out)
	params := d.Params()
	if params != "" {
		words := []string{"zbench", "recommend", "DIR", "--framework", trainer.Unsharded}
		for _, path := range args {
			words = append(words, "--trace", path)
		}
		next = append(next, document.Command{For: "then the bucket size for this model", Line: plain.Shell(words...)})
	}
	r.shown = d.Shown(next...)
	r.files = whole(r.shown, specs...)
	if params != "" {
		r.files = append(r.files, artifact{paramsFile, func(w io.Writer) error { _, err := io.WriteString(w, params); return err }}) //nolint:wrapcheck // the folder's error names the file
	}
	if chakra {
		r.files = append(r.files, chakraFiles(s, t)...)
	}
	if !o.fail && t.Calls() > 0 {
		r.shown.State = "" // a failure of the job is not a failure of this command
	}
	return s.deliver(o, r)
}

// paramsFile has the tensors of the model, in the format of --params.
const paramsFile = "params.csv"

// reachOf returns a function that predicts the times of collectives on a device, by the model of
// the device's fabric. It predicts within one node, or over whole nodes.
func reachOf(device string) trace.Reach {
	known := map[int]model{}
	return func(collective string, bytes int64, ranks int) (float64, string) {
		m, ok := known[ranks]
		if !ok {
			m = modelOf(device, ranks)
			known[ranks] = m
		}
		if m.Machine == nil {
			return 0, ""
		}
		return m.Launch(m.Whole(), collective, bytes), "the model of fabric " + m.of
	}
}

// fabricsOf returns the fabrics whose GPU is this device.
func fabricsOf(device string) (out []*fabric.Fabric) {
	for _, name := range fabric.Names() {
		if f, err := fabric.ByName(name); err == nil && f.GPU != "" && strings.Contains(device, f.GPU) {
			out = append(out, f)
		}
	}
	return out
}

// model is the machine of a fabric for a number of ranks. The machine is nil if no fabric fits.
type model struct {
	*fabric.Machine
	of string
}

func modelOf(device string, ranks int) model {
	for _, f := range fabricsOf(device) {
		w := spec.World{Nodes: nodesOf(ranks, f.Node.GPUs), GPUsPerProcess: 1}
		if w.Nodes == 0 {
			continue
		}
		w.GPUsPerNode = ranks / w.Nodes
		if m, err := f.Resolve(w, fabric.Conditions{}); err == nil {
			return model{m, f.Name}
		}
	}
	return model{}
}

// nodesOf returns the number of nodes that the ranks fill, or 0 if they do not fill whole nodes.
func nodesOf(ranks, gpus int) int {
	switch {
	case ranks <= gpus:
		return 1
	case gpus == 0 || ranks%gpus != 0:
		return 0
	}
	return ranks / gpus
}

// toMeasure returns sweeps over the sizes that a job sends: as commands and, if there is a folder,
// as files for --spec.
func toMeasure(d *trace.Document, out string) (lines []document.Command, specs []artifact) {
	for _, m := range d.Measure {
		nodes := nodesOf(m.Ranks, 8) // a group of up to 8 ranks may be within one node
		if fabrics := fabricsOf(d.Device); len(fabrics) > 0 {
			nodes = nodesOf(m.Ranks, fabrics[0].Node.GPUs)
		} else if nodes > 1 {
			nodes = 0 // the number of nodes is unknown
		}
		line := spec.SizesLine(m.Collectives, m.Sizes, m.Dtype, nodes, m.Ranks)
		if out != "" && nodes > 0 {
			var want spec.Spec
			addSpecFlags(&cobra.Command{}, &want) // with the defaults of zbench collectives
			want.Sweep.Collectives, want.Sweep.Sizes, want.Sweep.Dtype = m.Collectives, m.Sizes, m.Dtype
			want.World.Nodes, want.World.GPUsPerNode = nodes, m.Ranks/nodes
			name := fmt.Sprintf("measure-%d-%s.json", m.Ranks, m.Dtype)
			specs = append(specs, artifact{name, func(w io.Writer) error { return jsonfile.WriteBare(w, name, want) }})
			line = plain.Shell("zbench", "collectives", "--spec", filepath.Join(out, name))
		}
		lines = append(lines, document.Command{For: fmt.Sprintf("measure these sizes on %d ranks", m.Ranks), Line: line})
	}
	return lines, specs
}
