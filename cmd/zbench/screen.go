package main

import "github.com/spf13/cobra"

func newNodeScreen(s State) *cobra.Command {
	var o nodeScreenOptions
	cmd := &cobra.Command{
		Use: "screen", Short: "Check each node alone, and name those to leave out", Args: noArgs,
		Long: `screen checks each node alone, all at the same time, before ranks of different
nodes meet: GPUs, versions of libraries and drivers, topology and error
counters, NICs by port state and speed, the bandwidth of every GPU's memory, a
matrix product of every GPU that fills its compute units (bfloat16, by the
vendor's library), a collective over the node's own GPUs, and messages between
each two of them, which zbench rails' rules judge. On hardware there is also one
collective for each NIC, which no collective of one node crosses otherwise, with
NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1 NCCL_IB_HCA==NIC. That step
is untried on hardware. --soak 1m adds a short zbench soak of each node's GPUs,
over its NICs if it has any: it looks for wrong data in first messages.

No process waits for another node, so a node that hangs or crashes cannot stop
the others: each measurement is a process of its own with a deadline.

In a Slurm allocation, or with --hostfile, one process per node starts, and each
writes nodes/HOST.json into --out, a folder that all nodes share. Then the nodes
are compared: a node fails if it has fewer GPUs or NICs than most nodes, other
versions, a port that is down or slower, an error, wrong data, or a bandwidth
or rate that lies 8 % and 5 robust standard deviations below the median. What
most nodes have in common fails no node. --judge compares such files again.

The result is report.html, screen.json, and pass.txt and fail.txt, one node a
line. The exit code is 0 if no node fails, 4 if one has wrong data, 3 if one
fails otherwise, and 6 if nothing can be told.`,
		Example: `  salloc -N 128 zbench screen --out screened      all nodes of the allocation
  zbench collectives --exclude-bad screened    the world without them
  srun --exclude=./screened/fail.txt …            any other job without them
  zbench screen --hostfile hosts --out screened   by mpirun
  zbench screen                                   this node
  zbench screen --judge screened                  compare the files again
  zbench screen --backend loopback --nodes 16 --fault slow_hbm:node=3,gpu=5,left=0.85`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.given = cmd.Flags().Changed("nodes")
			return runNodeScreen(cmd.Context(), s, o)
		},
	}
	addNodeScreenFlags(cmd, &o)
	return cmd
}
