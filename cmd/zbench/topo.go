package main

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"zbench/bench/base/exit"
	"zbench/bench/base/folder"
	"zbench/internal/topo"
)

// topoOptions are the options of topo.
type topoOptions struct {
	root, host, xml string
	outputs         []string
	output
}

func newTopo(s State) *cobra.Command {
	o := topoOptions{output: output{bare: true}} // it prints nothing but its findings
	cmd := &cobra.Command{
		Use: "topo [NODE.json…]", Short: "Read this node's GPUs, xGMI links, NICs and rails; compare nodes",
		Long: `topo reads the kernel's view of this node: GPUs with partitions and xGMI links
(KFD), RDMA NICs by driver with rate, state, MTU, GIDs and firmware, NUMA nodes,
PCIe links, and error counters (ECC, xGMI, AER, link-downs). The rail of a GPU
is the NIC that shares the nearest PCI switch with it, never the one with the
same number. It measures nothing and needs no GPU library.

--xml compares that with the topology file that RCCL writes, --outputs adds what
nicctl, rdma, ethtool, ip and lldpctl printed. Facts that no source has are
listed as NOT CHECKED with the command that gives them.

With files of several nodes (topo.json, or --format json) it prints what differs
from the majority: kernel, driver, firmware, environment, modes, and cables that
are swapped between leaf switches.

The exit code is 0 without faults, 3 if a finding is a fault or nodes differ,
and 5 if there is neither a GPU nor an RDMA NIC. Doubts and notes are no faults.`,
		Example: `  zbench topo                                   this node
  zbench topo --out node7                       topo.json, report.html, topo.svg
  zbench topo --xml FILE                        compare with NCCL_TOPO_DUMP_FILE
  zbench topo --outputs DIR                     nicctl, rdma, ethtool, lldpctl
  zbench topo --root DIR                        a recorded tree of /sys
  zbench topo node1.json node2.json node3.json  what differs between nodes`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return runTopo(s, o)
			}
			for _, name := range []string{"root", "host", "xml", "outputs"} {
				if cmd.Flags().Changed(name) {
					return usagef("leave the files out to read one node", "--%s does not go with files of nodes", name)
				}
			}
			return runDrift(s, args, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.root, "root", "", "read this folder instead of /: a copy of /sys, or of KFD's topology")
	f.StringVar(&o.host, "host", "", "name of the node (default this host, or the name of --root)")
	f.StringVar(&o.xml, "xml", "", "RCCL's topology file (NCCL_TOPO_DUMP_FILE) to compare with")
	f.StringArrayVar(&o.outputs, "outputs", nil, "file or folder with outputs of nicctl -j, rdma -j, ethtool -S, ip link, lldpctl -f json, or a CSV of leaves (nic,leaf)")
	o.addFlags(f, "folder to create for topo.json, report.html and topo.svg")
	return cmd
}

func runTopo(s State, o topoOptions) error {
	started := s.Now()
	n, err := readTopo(s, o)
	if err != nil {
		return err
	}
	r := result{shown: n.Shown(), started: started}
	if o.out != "" {
		if r.dir, err = drawnFolder(s, "", o.out); err != nil {
			return err
		}
		defer r.dir.Close() //nolint:errcheck // the next run replaces a lock that remains
		r.after = func(dir *folder.Folder) { s.note(o.quiet, "Wrote %s\n", dir.File("report.html")) }
	}
	if n.Empty() {
		r.verdict = exit.With(exit.Unavailable, fmt.Errorf("%s: %w", n.Verdict, exit.ErrUnavailable), "run it on a GPU node, or give --root DIR, --xml FILE or --outputs DIR")
	}
	return s.deliver(o.output, r)
}

// runDrift compares the nodes that several files describe.
func runDrift(s State, files []string, o topoOptions) error {
	started := s.Now()
	nodes, err := loadNodes(s, "topo", "", "`zbench topo --format json > NODE.json` writes one", files)
	if err != nil {
		return err
	}
	d, err := topo.Compare(nodes)
	if err != nil {
		return usage(err, "give the files of different nodes; --host names a node")
	}
	return s.deliver(o.output, result{shown: d.Shown(), started: started})
}

// readTopo reads the inputs that the options name.
func readTopo(s State, o topoOptions) (*topo.Node, error) {
	in := topo.Inputs{Tool: toolVersion(), Host: cmp.Or(o.host, s.Hostname())}
	root := "/"
	if o.root == "" {
		in.Environ = s.Environ()
	} else {
		info, err := s.FS.Stat(o.root)
		if err != nil || !info.IsDir() {
			return nil, usagef("give the folder that a copy of /sys lies in", "--root %s is not a folder that can be read", o.root)
		}
		root, in.Host = o.root, cmp.Or(o.host, filepath.Base(o.root))
	}
	var err error
	if o.xml != "" {
		if in.XML, err = readText(s, "--xml", o.xml); err != nil {
			return nil, err
		}
	}
	for _, name := range o.outputs {
		more, err := readOutputs(s, name)
		if err != nil {
			return nil, err
		}
		in.Outputs = append(in.Outputs, more...)
	}
	n, err := topo.Read(treeFS{s.FS, root}, in)
	if err != nil { // only an error of the XML counts: everything else is optional
		return nil, usagef("NCCL_TOPO_DUMP_FILE=FILE with any RCCL program writes one", "%s: %w", o.xml, err)
	}
	if n.OnlyXML() { // the XML is not from this host
		n.Host = cmp.Or(o.host, filepath.Base(o.xml))
	}
	return n, nil
}

// readOutputs reads a file, or all files in a folder.
func readOutputs(s State, name string) ([]topo.Output, error) {
	info, err := s.FS.Stat(name)
	if err != nil {
		return nil, usagef("give a file or folder that can be read", "--outputs: %w", err)
	}
	if !info.IsDir() {
		text, err := readText(s, "--outputs", name)
		return []topo.Output{{Name: filepath.Base(name), Text: text}}, err
	}
	all, err := topo.OutputsOf(treeFS{s.FS, name})
	if err != nil {
		return nil, usagef("give a folder of outputs", "--outputs %s: %w", name, err)
	}
	return all, nil
}
