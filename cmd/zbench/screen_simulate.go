package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"zbench/bench/fleet/nodescreen"
	"zbench/internal/probe"
)

// simulation names the measurement of simulated nodes, instead of a file: simulation=FROM-END=DIR.
const simulation = "simulation"

// measuredWord begins the line on each node that a simulation has measured.
const measuredWord = "zbench has measured "

// simulate screens some nodes of a simulation, the last excluded: one after the other, as the
// loopback has one world at a time, and in a process of their own. A node that hangs takes its
// process along; the others follow in the next one.
func (o *nodeScreenOptions) simulate(ctx context.Context, s State, dir string, from, end int) error {
	for i := from; i < end; i++ { // before anything is started
		if _, _, err := o.simulatedNode(s, i); err != nil {
			return err
		}
	}
	for from < end {
		done, why, err := o.simulateIn(ctx, s, dir, from, end)
		if from += done; err != nil || from == end {
			return err
		}
		n, _, err := o.simulatedNode(s, from)
		if err != nil {
			return err
		}
		n.Faults = append(n.Faults, nodescreen.Fault{Code: "no_measurement", Subject: "node", Message: "memory and collective: " + why, Next: "`zbench doctor` on the node"})
		if err := keepNode(s, dir, n); err != nil {
			return err
		}
		from++
	}
	return nil
}

// simulateIn starts a process for the nodes. It returns how many it has measured, and why not
// the next one.
func (o *nodeScreenOptions) simulateIn(ctx context.Context, s State, dir string, from, end int) (done int, why string, err error) {
	lines, over := make(chan string), make(chan struct{})
	defer close(over)
	child, err := s.Start(Command{
		Argv:    append([]string{s.Executable}, s.Args...),
		Environ: append(s.Environ(), fmt.Sprintf("%s=%s=%d-%d=%s", probeVariable, simulation, from, end, dir)),
		Control: true,
		Output: &overheard{to: io.Discard, says: func(line string) {
			select {
			case lines <- line:
			case <-over:
			}
		}},
	})
	if err != nil {
		return 0, "", err
	}
	limit := time.Duration(o.deadline * float64(time.Second))
	late := time.NewTimer(limit)
	defer late.Stop()
	ends, last := endOf(child), ""
	for {
		select {
		case line := <-lines:
			if strings.HasPrefix(line, measuredWord) {
				done++
				late.Reset(limit)
			} else if line != "" {
				last = line
			}
		case e := <-ends:
			return done, strings.TrimSuffix(fmt.Sprintf("its process ended early (%s): %s", e.how, last), ": "), ctx.Err()
		case <-late.C:
			child.Kill()
			return done, fmt.Sprintf("it has not ended within %g s", o.deadline), nil
		case <-ctx.Done():
			child.Kill()
			return done, "", context.Cause(ctx)
		}
	}
}

// simulating measures the nodes in this process, and says so of each.
func (o *nodeScreenOptions) simulating(ctx context.Context, s State, job string) error {
	var from, end int
	nodes, dir, ok := strings.Cut(job, "=")
	if _, err := fmt.Sscanf(nodes, "%d-%d", &from, &end); err != nil || !ok {
		return usagef("unset it", "%s: %q is not FROM-END=DIR", probeVariable, job)
	}
	for i := from; i < end; i++ {
		n, m, err := o.simulatedNode(s, i)
		if err != nil {
			return err
		}
		if err := probe.Measure(ctx, probe.Simulated(*m), n); err != nil {
			return err
		}
		if err := keepNode(s, dir, n); err != nil {
			return err
		}
		fmt.Fprintf(s.Stderr, "%s%s\n", measuredWord, n.Host)
	}
	return nil
}
