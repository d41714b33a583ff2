package nodescreen_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/fleet/nodescreen"
	"zbench/bench/base/finding"
	"zbench/test/longtest"
	"zbench/test/rendertest"
	"zbench/test/schematest"
)

func rate(v float64) *nodescreen.Rate {
	return &nodescreen.Rate{What: "copy 1 GiB", Rate: &v, Samples: 20}
}

// fleet has healthy nodes whose values vary by 2 %.
func fleet(seed uint64, count int) []*nodescreen.Node {
	rng := rand.New(rand.NewPCG(seed, 0x5c4ee))
	var out []*nodescreen.Node
	for i := range count {
		n := &nodescreen.Node{
			Schema: nodescreen.NodeSchema, Host: fmt.Sprintf("n%03d", i), Packages: new(8),
			Facts:      []nodescreen.Fact{{Name: "RCCL", Value: "2.28.3"}},
			Collective: &nodescreen.Rate{What: "all_reduce 64 MiB, 8 GPUs", Rate: new(270e9 * (1 + 0.02*rng.NormFloat64())), Samples: 20},
		}
		n.Links = &nodescreen.Links{What: "message of 64 MiB between two GPUs", Bytes: 64 << 20}
		for pass := range 2 {
			for a := range 8 {
				for b := range a {
					t := nodescreen.LinkTiming{Round: 7*pass + (a ^ b - 1), A: a, B: b} // whoever differs in the same bits is not in two pairs
					for range 4 {
						t.Seconds = append(t.Seconds, (64<<20)/44e9*(1+0.02*rng.NormFloat64()))
					}
					n.Links.Timings = append(n.Links.Timings, t)
				}
			}
		}
		for g := range 8 {
			n.GPUs = append(n.GPUs, nodescreen.GPU{Index: g, Name: "MI300X", Memory: rate(4.1e12 * (1 + 0.02*rng.NormFloat64())), Product: &nodescreen.Rate{
				What: "bfloat16 4864x4096x8256/TN", Rate: new(650e12 * (1 + 0.02*rng.NormFloat64())), Samples: 20,
			}})
			n.NICs = append(n.NICs, nodescreen.NIC{Name: fmt.Sprintf("ionic_%d", g), State: "ACTIVE", Negotiated: new(50e9), Collective: &nodescreen.Rate{
				What: "all_reduce 16 MiB over one NIC", Rate: new(44e9 * (1 + 0.02*rng.NormFloat64())), Samples: 20,
			}})
		}
		out = append(out, n)
	}
	return out
}

// bad are faults of node 3: each is named by its rule and its component, and nothing else is.
var bad = []struct {
	name, rule, subject string
	plant               func(n *nodescreen.Node)
}{
	{"seven GPUs", "gpus", "node", func(n *nodescreen.Node) {
		n.GPUs, n.Packages = n.GPUs[:7], new(7)
		n.Collective.What = "all_reduce 64 MiB, 7 GPUs"
		n.Links = nil
	}},
	{"a hidden GPU", "gpus", "node", func(n *nodescreen.Node) { n.GPUs = n.GPUs[:7]; n.Collective, n.Links = nil, nil }},
	{"another library", "fact", "RCCL", func(n *nodescreen.Node) { n.Facts[0].Value = "2.22.3" }},
	{"no library", "fact", "RCCL", func(n *nodescreen.Node) { n.Facts = nil }},
	{"slow memory", "memory", "GPU 5", func(n *nodescreen.Node) { *n.GPUs[5].Memory.Rate *= 0.8 }},
	{"slow units", "product", "GPU 5", func(n *nodescreen.Node) { *n.GPUs[5].Product.Rate *= 0.85 }},
	{"a NIC down", "nic_state", "ionic_2", func(n *nodescreen.Node) { n.NICs[2].State = "DOWN"; n.NICs[2].Collective = nil }},
	{"a slow port", "nic_rate", "ionic_2", func(n *nodescreen.Node) { n.NICs[2].Negotiated = new(12.5e9) }},
	{"a slow NIC", "nic_collective", "ionic_7", func(n *nodescreen.Node) { *n.NICs[7].Collective.Rate *= 0.7 }},
	{"a NIC gone", "nic_count", "node", func(n *nodescreen.Node) { n.NICs = n.NICs[:7] }},
	{"a slow collective", "collective", "node", func(n *nodescreen.Node) { *n.Collective.Rate *= 0.7 }},
	{"a slow link", "link", "link between GPUs 2 and 5", func(n *nodescreen.Node) { slower(n, 0.85, 2, 5) }},
	{"links of a GPU", "link", "GPU 6", func(n *nodescreen.Node) { slower(n, 0.8, 6) }},
	{"an error", "error", "GPU 0", func(n *nodescreen.Node) {
		n.GPUs[0].Memory = &nodescreen.Rate{What: "copy 1 GiB", Error: "hipErrorLaunchFailure"}
	}},
	{"a wrong result", finding.CodeWrongData, "GPU 0", func(n *nodescreen.Node) {
		n.GPUs[0].Memory = &nodescreen.Rate{What: "copy 1 GiB", Error: "wrong data: 1 element", Wrong: true}
	}},
	{"its own check", "own_check", "ionic_1", func(n *nodescreen.Node) {
		n.Faults = []nodescreen.Fault{{Code: "no_roce_v2", Subject: "ionic_1", Message: "no address", Next: "set one"}}
	}},
}

// slower leaves that part of the bandwidth of the links that have all of the GPUs at their ends.
func slower(n *nodescreen.Node, left float64, gpus ...int) {
	for _, t := range n.Links.Timings {
		if !slices.ContainsFunc(gpus, func(g int) bool { return g != t.A && g != t.B }) {
			for i := range t.Seconds {
				t.Seconds[i] /= left
			}
		}
	}
}

func TestLongOneBadNodeIsNamed(t *testing.T) {
	longtest.OnlyOrDetected(t)
	for _, b := range bad {
		for _, count := range []int{4, 128} {
			all := fleet(1, count)
			require.Equal(t, finding.Healthy, nodescreen.Judge(nodescreen.Fleet{Nodes: all, Expected: count}).State, "%s: the same fleet without it", b.name)
			b.plant(all[3])
			d := nodescreen.Judge(nodescreen.Fleet{Nodes: all, Expected: count})
			require.Equal(t, []string{"n003"}, d.Fail, "%s of %d: %+v", b.name, count, d.Findings)
			require.Len(t, d.Pass, count-1)
			require.Equal(t, finding.Faulty, d.State)
			require.Equal(t, b.rule, d.Findings[0].Rule, b.name)
			require.Equal(t, b.subject, d.Findings[0].Subject, b.name)
			require.NotEmpty(t, d.Findings[0].Next, b.name)
			slices.Reverse(all)
			require.Equal(t, d, nodescreen.Judge(nodescreen.Fleet{Nodes: all, Expected: count}), "the order of the nodes does not matter")
		}
	}
	for _, rule := range nodescreen.Rules() {
		require.True(t, rule == "no_report" || slices.ContainsFunc(bad, func(b struct {
			name, rule, subject string
			plant               func(n *nodescreen.Node)
		},
		) bool {
			return b.rule == rule
		}), "the rule %s has a fault", rule)
	}
}

func TestANodeThatDoesNotReport(t *testing.T) {
	all := fleet(1, 8)
	d := nodescreen.Judge(nodescreen.Fleet{Nodes: all[:7], Expected: 8, Hosts: []string{"n000.dc1", "n001", "n002", "n003", "n004", "n005", "n006", "n007"}})
	require.Equal(t, []string{"n007"}, d.Fail)
	require.Equal(t, "no_report", d.Findings[0].Rule)
	d = nodescreen.Judge(nodescreen.Fleet{Nodes: all[:6], Expected: 8})
	require.Equal(t, finding.Faulty, d.State)
	require.Contains(t, d.Findings[0].Message, "2 of 8 nodes")
	require.Empty(t, d.Fail, "no name is known")
	require.Equal(t, finding.NotChecked, nodescreen.Judge(nodescreen.Fleet{Expected: 8, Hosts: []string{"a"}}).State)
}

// What half of the nodes have is not a majority: the nodes are unclear, none fails.
func TestWithoutAMajority(t *testing.T) {
	all := fleet(1, 4)
	all[0].Facts[0].Value, all[1].Facts[0].Value = "2.22.3", "2.22.3"
	d := nodescreen.Judge(nodescreen.Fleet{Nodes: all})
	require.Equal(t, finding.Unclear, d.State)
	require.Empty(t, d.Fail)
	require.Len(t, d.Unclear, 4)
}

// What most nodes have is no reason to leave one out.
func TestWhatMostNodesHave(t *testing.T) {
	all := fleet(1, 8)
	for _, n := range all {
		n.NICs[7].State, n.NICs[7].Collective = "DOWN", nil // not wired
		n.NICs[6].Negotiated = new(12.5e9)                  // the storage network
		n.Faults = []nodescreen.Fault{{Code: "iommu", Subject: "node", Message: "m"}}
	}
	d := nodescreen.Judge(nodescreen.Fleet{Nodes: all})
	require.Equal(t, finding.Healthy, d.State, "%+v", d.Findings)
	require.Contains(t, d.Unchecked[0], "iommu: found on 8 of 8 nodes")
}

// What most nodes do not tell, because their deadline passed, is no value that the others lack.
func TestWhatMostNodesDoNotTell(t *testing.T) {
	all := fleet(1, 8)
	for _, n := range all[:6] {
		n.Facts = nil
	}
	d := nodescreen.Judge(nodescreen.Fleet{Nodes: all})
	require.Empty(t, d.Fail, "%+v", d.Findings)
	require.NotEmpty(t, d.Unchecked)
}

func TestANodeAlone(t *testing.T) {
	n := fleet(1, 1)[0]
	require.Equal(t, finding.Healthy, nodescreen.Judge(nodescreen.Fleet{Nodes: []*nodescreen.Node{n}}).State)
	n.NICs[3].State = "DOWN"
	n.NICs[4].Negotiated = new(25e9)
	*n.GPUs[1].Memory.Rate *= 0.5
	d := nodescreen.Judge(nodescreen.Fleet{Nodes: []*nodescreen.Node{n}})
	var rules []string
	for _, f := range d.Findings {
		rules = append(rules, f.Rule)
	}
	require.Equal(t, []string{"nic_state", "nic_rate", "memory"}, rules)
	require.Contains(t, d.Unchecked[0], "too few", "one collective has nothing to be compared with")
}

// Values that vary by themselves name no node, and the report says so. The slower ones do not pass.
func TestTooMuchSpread(t *testing.T) {
	all := fleet(1, 8)
	for i, n := range all {
		*n.Collective.Rate *= 1 + 0.3*float64(i)
	}
	d := nodescreen.Judge(nodescreen.Fleet{Nodes: all})
	require.Equal(t, finding.Unclear, d.State)
	require.Empty(t, d.Fail)
	require.Len(t, d.Pass, 4)
	require.Contains(t, d.Unchecked[0], "none can be named")
}

func TestTextOfAScreen(t *testing.T) {
	all := fleet(1, 8)
	*all[3].GPUs[5].Memory.Rate *= 0.8
	all[2].Simulated = true
	d := nodescreen.Judge(nodescreen.Fleet{Nodes: all, Expected: 8})
	text := rendertest.Text(t, d.Shown("v1"), 120, false)
	require.Contains(t, text, "FAULT: 1 node to leave out; 8 reported, 7 without a finding (SIMULATED)")
	require.Contains(t, text, "n003")
	require.Contains(t, text, "GPU 5")
	require.Regexp(t, `Slowest by memory of MI300X, copy 1 GiB: GPU 5 of n003 at 3\.\d+ TB/s; fastest: GPU \d of n00\d at 4\.\d+ TB/s\.`, text)
	require.Contains(t, rendertest.Markdown(t, d.Shown("v1")), "| n003 |")
}

func TestSchemasRefuse(t *testing.T) {
	all := fleet(1, 8)
	all[3].Facts[0].Value = "x"
	*all[4].GPUs[5].Memory.Rate *= 0.8
	d := nodescreen.Judge(nodescreen.Fleet{Nodes: all, Expected: 9})
	d.Unchecked, d.Unclear = []string{"u"}, []string{"n"}
	schema := schematest.Read(t, "schema/v1.json")
	good := schematest.Written(t, d)
	schematest.Refuses(t, schema, schematest.Changes{Good: good, Bad: map[string]string{
		"/references/0/slowest/rate": `0`, "/references/0/fastest/rate": `0`,
		"/schema": `"zbench.screen/0"`, "/sha256": `"none"`, "/state": `"fine"`, "/findings/0/rule": `"luck"`,
	}})

	n := all[2]
	n.Tool, n.Backend, n.Seconds, n.Notes = "t", "rocm", 3, []string{"n"}
	n.Faults = []nodescreen.Fault{{Code: "c", Subject: "s", Message: "m", Next: "n"}}
	n.NICs[0].Rated, n.Collective.Error = new(50e9), "e"
	schema = schematest.Read(t, "schema/node-v1.json")
	good = schematest.Written(t, n)
	schematest.Refuses(t, schema, schematest.Changes{Good: good, Bad: map[string]string{
		"/schema": `"zbench.screen/1"`, "/sha256": `"none"`, "/collective/rate": `0`, "/seconds": `-1`, "/links/bytes": `0`,
	}})
	back, err := nodescreen.ReadNode([]byte(good))
	require.NoError(t, err)
	require.Equal(t, good, schematest.Written(t, back))
}

func TestReadNodeRefuses(t *testing.T) {
	good := schematest.Written(t, fleet(1, 1)[0])
	for _, change := range []func(map[string]any){
		func(m map[string]any) { m["schema"] = "zbench.topo/1" },
		func(m map[string]any) { m["host"] = "a b" },
		func(m map[string]any) { m["host"] = "../n" },
		func(m map[string]any) { m["host"] = strings.Repeat("n", 254) },
		func(m map[string]any) { m["collective"].(map[string]any)["rate"] = -1 },
		func(m map[string]any) { m["links"].(map[string]any)["bytes"] = 0 },
		func(m map[string]any) { m["links"].(map[string]any)["timings"].([]any)[0].(map[string]any)["a"] = 8 },
		func(m map[string]any) { m["links"].(map[string]any)["timings"].([]any)[0].(map[string]any)["a"] = 0 },
	} {
		var m map[string]any
		require.NoError(t, json.Unmarshal([]byte(good), &m))
		change(m)
		text, err := json.Marshal(m)
		require.NoError(t, err)
		_, err = nodescreen.ReadNode(text)
		require.Error(t, err, "%s", text)
	}
}

// A port that is down on most nodes is not named with one that is down on its node alone.
func TestAPortThatIsDownEverywhere(t *testing.T) {
	all := fleet(1, 8)
	for _, n := range all {
		n.NICs[7].State, n.NICs[7].Collective = "DOWN", nil
	}
	all[3].NICs[2].State, all[3].NICs[2].Collective = "DOWN", nil
	d := nodescreen.Judge(nodescreen.Fleet{Nodes: all})
	require.Equal(t, []string{"n003"}, d.Fail)
	require.Len(t, d.Findings, 1)
	require.Equal(t, "ionic_2", d.Findings[0].Subject)
}

// Of two or three nodes none is named, and the one that is behind the best does not pass; a node alone
// promises nothing of its collective. Half of four nodes do not pass either.
func TestFewNodesAreUnclear(t *testing.T) {
	for _, x := range []struct{ nodes, slow int }{{2, 1}, {3, 1}, {3, 2}, {4, 2}, {6, 3}} {
		all := fleet(1, x.nodes)
		for _, n := range all[:x.slow] {
			*n.Collective.Rate *= 0.6
		}
		d := nodescreen.Judge(nodescreen.Fleet{Nodes: all})
		require.Equal(t, finding.Unclear, d.State, "%+v", x)
		require.Len(t, d.Unclear, x.slow)
		require.NotContains(t, d.Pass, all[0].Host)
		for _, n := range all[:x.slow] { // small differences are healthy
			*n.Collective.Rate *= 0.95 / 0.6
		}
		require.Equal(t, finding.Healthy, nodescreen.Judge(nodescreen.Fleet{Nodes: all}).State, "%+v", x)
	}
	d := nodescreen.Judge(nodescreen.Fleet{Nodes: fleet(1, 1)})
	require.Contains(t, d.Verdict(), "NOT CHECKED: all_reduce")
	require.NotContains(t, d.Verdict(), "no node")
}
