package report

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/fleet/nodescreen"
	"zbench/bench/show/document"
)

// screenedFleet has nodes whose values vary by 2 %; change plants faults.
func screenedFleet(count int, change func(all []*nodescreen.Node)) ([]*nodescreen.Node, *nodescreen.Document) {
	rng := rand.New(rand.NewPCG(1, 0x5c4ee))
	rate := func(what string, of float64) *nodescreen.Rate {
		return &nodescreen.Rate{What: what, Rate: new(of * (1 + 0.02*rng.NormFloat64())), Samples: 20}
	}
	var all []*nodescreen.Node
	for i := range count {
		n := &nodescreen.Node{Schema: nodescreen.NodeSchema, Host: fmt.Sprintf("rack%d-n%d", 1+i/16, 1+i%16), Facts: []nodescreen.Fact{{Name: "RCCL", Value: "2.28.3"}}, Collective: rate("all_reduce 64 MiB, 8 GPUs", 270e9)}
		for g := range 8 {
			n.GPUs = append(n.GPUs, nodescreen.GPU{Index: g, Name: "MI300X", PCI: fmt.Sprintf("0000:%x1:00.0", g), Memory: rate("copy 1 GiB", 4.1e12)})
			name := fmt.Sprintf("ionic_%d", g)
			n.NICs = append(n.NICs, nodescreen.NIC{Name: name, State: "ACTIVE", Negotiated: new(50e9), Collective: rate("all_reduce 16 MiB, 2 GPUs over "+name, 44e9)})
		}
		all = append(all, n)
	}
	var hosts []string
	for _, n := range all {
		hosts = append(hosts, n.Host)
	}
	f := nodescreen.Fleet{Expected: count, Hosts: hosts}
	change(all)
	for _, n := range all {
		if n.Schema != "" {
			f.Nodes = append(f.Nodes, n)
		}
	}
	return f.Nodes, nodescreen.Judge(f)
}

// badNodes are faults of each kind that a page shows.
func badNodes(all []*nodescreen.Node) {
	*all[20].GPUs[5].Memory.Rate = 3.3e12
	*all[21].GPUs[1].Memory.Rate = 1.0e12
	all[30].NICs[3].State, all[30].NICs[3].Collective = "DOWN", nil
	*all[31].NICs[7].Collective.Rate = 20e9
	*all[40].Collective.Rate = 150e9
	all[50].GPUs = all[50].GPUs[:7]
	all[51].Facts[0].Value = "2.22.3"
	all[52].Notes = []string{"collectives over single NICs: two in a row failed, the others were not run"}
	all[60].Schema = "" // it reports nothing
	all[61].GPUs[2].Memory = &nodescreen.Rate{What: "copy 1 GiB", Error: "its process ended early (signal: killed)"}
}

// The page says first which nodes to leave out and why, then ranks the nodes and shows each
// measured value with its limit. Without the faults it says that no node fails.
func TestScreenPage(t *testing.T) {
	_, d := screenedFleet(64, badNodes)
	page := d.Shown("v1")
	html := writeHTML(t, page)
	outline(t, html)
	keepPage(t, "screen", html)
	require.Len(t, d.Fail, 9)
	verdict, _, _ := strings.Cut(html, "</header>")
	for _, want := range []string{
		"<strong>FAULT</strong> 9 nodes to leave out; 63 of 64 reported", "<dt>Leave out</dt><dd>9</dd>",
		"<strong>FAULT</strong> rack4-n13: it reported nothing before the deadline", "3 more, listed below",
	} {
		require.Contains(t, verdict, want)
	}
	require.Regexp(t, `(?s)<th scope="row" class="l">rack4-n13</th>.*<th scope="row" class="l">rack4-n3</th>.*<th scope="row" class="l">rack2-n6</th>.*<th scope="row" class="l">rack1-n1</th>`, html, "worst first")
	require.Contains(t, html, "<td>−76 %</td>")
	for _, id := range []string{"dots-memory", "dots-collective", "dots-nic"} {
		require.Contains(t, html, `<figure id="`+id+`">`)
	}
	require.Contains(t, html, "<title>rack2-n5, GPU 5 (0000:51:00.0): 3.30 TB/s</title>")
	require.Contains(t, html, "two in a row failed, the others were not run (1 node)")
	require.NotContains(t, html, "SIMULATED")

	nodes, d := screenedFleet(64, func(all []*nodescreen.Node) { all[0].Simulated = true })
	html = writeHTML(t, d.Shown("v1"))
	require.Contains(t, html, "<strong>OK</strong> no node fails or lies apart; 64 reported")
	require.Contains(t, html, `<strong>SIMULATED</strong>`)
	require.NotContains(t, html, "Findings and next steps")

	for name, f := range map[string]nodescreen.Fleet{"nothing": {Expected: 4}, "one": {Nodes: nodes[:1]}} {
		outline(t, writeHTML(t, nodescreen.Judge(f).Shown("v1")))
		_ = name
	}
}

// Every dot is within the picture, and a text touches no other, wide and narrow, for fleets
// of one to many nodes and values from almost nothing to far above the median.
func TestDotsAreWithinThePicture(t *testing.T) {
	for _, count := range []int{1, 2, 7, 64, 128} {
		d := document.Dots{ID: "x", Title: "a title", Mark: "SIMULATED", One: "a GPU", Limits: []float64{0.08, 0.12}}
		for i := range count {
			d.Nodes = append(d.Nodes, fmt.Sprintf("a-rather-long-name-of-a-node-%d", i))
			for k := range 8 {
				v := document.DotValue{Node: i, Share: 1 - 0.002*float64(k)}
				if i%9 == 3 && k == 0 {
					v.Share, v.Named = 0.01+0.1*float64(i%10), true
				}
				d.Values = append(d.Values, v)
			}
		}
		d.Values[0].Share = 30
		if count == 2 { // values that are close have labels with decimals
			d.Values[0].Share, d.Limits = 1.02, []float64{0.08}
		}
		for _, f := range []dotForm{wideDots, narrowDots, aloneDots} {
			s := layOutDots(d, f)
			whole := box{0, 0, s.width, s.height}
			texts := s.labels()
			for i, one := range texts {
				require.True(t, one.bounds().inside(whole), "%d nodes: %q %v sticks out of %v", count, one.text, one.bounds(), whole)
				for _, o := range texts[i+1:] {
					require.False(t, one.bounds().touches(o.bounds()), "%d nodes: %q touches %q", count, one.text, o.text)
				}
			}
			dots := 0
			for _, l := range s.layers {
				for _, one := range l.dots {
					dots++
					require.True(t, box{one.at.x, one.at.y, one.at.x, one.at.y}.inside(box{f.left, f.head, f.width - f.right, f.height - f.foot}))
				}
			}
			require.Equal(t, len(d.Values), dots)
		}
	}
}

// keepPage writes a page where ZBENCH_PAGES asks for it: the browser's tests look at it.
func keepPage(t *testing.T, name, html string) {
	t.Helper()
	if folder := os.Getenv("ZBENCH_PAGES"); folder != "" {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name+".html"), []byte(html), 0o600))
	}
}
