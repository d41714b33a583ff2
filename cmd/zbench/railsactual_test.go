package main

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/fleet/rails"
	"zbench/bench/base/exit"
	"zbench/bench/run/record"
	"zbench/test/longtest"
)

// surveyed is rails.json, the page and the terminal's text of a simulated survey.
func surveyed(t *testing.T, code int, args ...string) (d rails.Document, page, text string) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "out")
	s, talk := testState(t, append([]string{"rails", "--nodes", "4", "--gpus-per-node", "4", "--backend", "loopback", "-q", "--out", folder}, args...)...)
	var out bytes.Buffer
	s.Stdout = Stream{Writer: &out}
	require.Equal(t, code, Main(context.Background(), s), "%s%s", talk, &out)
	require.NoError(t, json.Unmarshal([]byte(readBytes(t, folder, "rails.json")), &d))
	return d, readBytes(t, folder, "report.html"), unfolded(out.String())
}

// Crossed rails are named in worlds of every size, and no other node is.
func TestCrossedRailsOfFewNodes(t *testing.T) {
	longtest.OneGoroutine(t)
	for _, nodes := range []string{"2", "3", "8"} {
		d, _, text := surveyed(t, exit.Regression, "--nodes", nodes, "--fault", "crossed_rails:node=1,a=0,b=3")
		require.Len(t, d.Findings, 2, text)
		require.Equal(t, []string{"node1"}, d.Fail)
		require.Empty(t, d.Unclear)
	}
}

// Two GPUs of a node use each other's NIC: counters name both, and times alone neither. The
// paired run without the fault names nothing.
func TestCrossedRailsAreNamed(t *testing.T) {
	longtest.OneGoroutine(t)
	const fault = "crossed_rails:node=3,a=1,b=2"
	d, page, text := surveyed(t, exit.Regression, "--fault", fault)
	require.Len(t, d.Findings, 2)
	for i, says := range []string{"GPU 1 sent through NIC nic2; the expected NIC by PCI parents is nic1", "GPU 2 sent through NIC nic1; the expected NIC by PCI parents is nic2"} {
		require.Equal(t, rails.Rail, d.Findings[i].Part)
		require.Equal(t, []string{"node3"}, d.Findings[i].Nodes)
		require.Equal(t, []string{"counters: crossed rail: " + says}, d.Findings[i].Reasons)
	}
	require.Equal(t, []string{"node3"}, d.Fail)
	require.Len(t, d.Survey.ActualRails, 16)
	for _, a := range d.Survey.ActualRails {
		crossed := a.Node == "node3" && (a.GPU == 1 || a.GPU == 2)
		require.Equal(t, crossed, a.Use == rails.Crossed, a)
		require.Equal(t, !crossed, a.Use == rails.AsExpected, a)
	}
	require.Contains(t, text, "crossed rail: GPU 1")
	require.Contains(t, text, "14 of 16 GPUs sent through the NIC that PCI parents expect, 2 through")
	require.Contains(t, page, "The NIC that each GPU uses")

	d, _, text = surveyed(t, exit.OK)
	require.Empty(t, d.Findings)
	require.Contains(t, text, "16 of 16 GPUs")
	d, page, text = surveyed(t, exit.OK, "--fault", fault, "--counters", "off")
	require.Empty(t, d.Findings, "times do not show it")
	require.Empty(t, d.Survey.ActualRails)
	require.NotContains(t, page, "The NIC that each GPU uses")
	require.Contains(t, text, "NOT CHECKED: the rails that the GPUs really use: --counters off")
	// A tree without NICs is read, and has none.
	_, _, text = surveyed(t, exit.OK, "--counters", t.TempDir())
	require.Contains(t, text, "NOT CHECKED: the rails that the GPUs really use: no node has counters of NICs")
}

// A dead NIC's GPU takes another's: the counters say which, and clear the GPU whose NIC it is.
func TestDeadRailIsToldFromItsSubstitute(t *testing.T) {
	longtest.OneGoroutine(t)
	d, _, _ := surveyed(t, exit.Regression, "--fault", "dead_rail:node=1,rail=2")
	require.Len(t, d.Findings, 1)
	require.Equal(t, "rail 2 of node1", d.Findings[0].Name)
	require.Contains(t, d.Findings[0].Reasons, "counters: crossed rail: GPU 2 sent through NIC nic3; the expected NIC by PCI parents is nic2")
}

// On hardware a GPU's NIC follows from the GPU's PCI address, never from its number in the
// job: here the job's GPU 0 is the node's GPU 1, and two GPUs share a NIC.
func TestExpectedRailByPCIAddress(t *testing.T) {
	x := record.NICCounters{NIC: "x", GPU: 0, PCI: []string{"0000:05:00.0", ""}}
	y := record.NICCounters{NIC: "y", GPU: 1, PCI: []string{"0000:0A:00.0", "0000:0b:00.0"}}
	c := &countedDriver{devices: []record.Device{{PCI: "0000:0a:00.0"}, {PCI: "0000:0b:00.0"}}}
	f := rails.Fleet{Nodes: 1, GPUs: 2}
	for gpu := range 2 {
		require.False(t, c.expects(gpu, f)(0, x))
		require.True(t, c.expects(gpu, f)(0, y))
	}
	for _, devices := range [][]record.Device{nil, {{}, {}}} { // addresses that are not known
		c.devices = devices
		require.False(t, c.expects(0, f)(0, x))
		require.False(t, c.expects(0, f)(0, y))
	}
}
