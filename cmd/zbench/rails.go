package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"zbench/bench/exit"
	"zbench/bench/pairs"
)

func newRails(s State) *cobra.Command {
	var matrix, out, format string
	cmd := &cobra.Command{
		Use: "rails --matrix FILE", Short: "Name the slow node or pair in bandwidths between pairs", Args: noArgs,
		Long: `rails reads bandwidths that were measured between pairs of nodes, or of GPUs,
and names what is slow against the median of the rest. It measures nothing
itself.

FILE is a CSV in GB/s. Each line is a pair (node, node, GB/s), or the file is a
matrix whose first line names the columns. Gaps and lines with # are allowed. A
slow node is slow with all of its partners; a slow pair is slow alone, and of
low confidence if it was measured once. Three nodes are needed.

The exit code is 0 if nothing is slow, 3 if something is, and 6 if the pairs
cannot tell.`,
		Example: `  zbench rails --matrix pairs.csv
  zbench rails --matrix pairs.csv --out rails    also pass.txt and fail.txt, for
                                                 srun --exclude`,
		RunE: func(*cobra.Command, []string) error { return runRails(s, matrix, out, format) },
	}
	f := cmd.Flags()
	f.StringVar(&matrix, "matrix", "", "CSV of bandwidths between pairs, in GB/s")
	f.StringVar(&out, "out", "", "folder to create for pass.txt and fail.txt, a node on each line")
	railsDocument.flag(f, &format)
	return cmd
}

func runRails(s State, matrix, out, format string) error {
	const help = "zbench rails --help lists the flags"
	if err := railsDocument.check(format, help); err != nil {
		return err
	}
	if matrix == "" {
		return usagef("zbench rails --matrix pairs.csv", "rails needs the bandwidths of pairs")
	}
	text, err := readText(s, "--matrix", matrix)
	if err != nil {
		return err
	}
	samples, err := pairs.Read(text)
	if err != nil {
		return usagef("give lines of node, node, GB/s", "--matrix %s: %w", matrix, err)
	}
	v := pairs.Judge(samples)
	if out != "" {
		if err := writePassFail(s, v, out); err != nil {
			return err
		}
	}
	if _, err := railsDocument.print(s, format, v); err != nil {
		return err
	}
	switch {
	case v.Undecided:
		return quietError{exit.Want}
	case len(v.Slow) > 0:
		return quietError{exit.Regression}
	}
	return nil
}

// writePassFail writes the lists for a launcher: srun --exclude takes a file.
func writePassFail(s State, v pairs.Verdict, out string) error {
	started := s.Now()
	dir, err := drawnFolder(s, "", out)
	if err != nil {
		return err
	}
	defer dir.Close() //nolint:errcheck // a lock that stays is taken over by the next run
	pass, fail := v.PassFail()
	for _, f := range []struct {
		name  string
		nodes []string
	}{{"pass.txt", pass}, {"fail.txt", fail}} {
		text := strings.Join(f.nodes, "\n")
		if text != "" {
			text += "\n"
		}
		err := dir.Write(f.name, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
		if err != nil {
			return err
		}
	}
	if err := writeRun(dir, s, started); err != nil {
		return err
	}
	fmt.Fprintf(s.Stderr, "Wrote %s and %s\n", dir.File("pass.txt"), dir.File("fail.txt"))
	return nil
}
