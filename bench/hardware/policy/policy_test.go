package policy_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/hardware/collective"
	"zbench/bench/hardware/policy"
)

func TestAll(t *testing.T) {
	require.Equal(t, []policy.Policy{{}}, policy.All(nil, nil))
	all := policy.All([]string{"none", "window"}, []string{"default", "zero"})
	require.Equal(t, []policy.Policy{{}, {CTA: "zero"}, {Register: "window"}, {Register: "window", CTA: "zero"}}, all)
	require.Equal(t, "register window, CTA zero", all[3].String())
	require.Equal(t, 2, all[3].Number())
	require.Equal(t, 0, all[0].Number())
	require.True(t, policy.Named(all[3].String()))
	for setup, want := range map[string][2]string{
		"": {}, "skew zipf:1.2": {"", "skew zipf:1.2"}, "register window, CTA zero": {"register window, CTA zero", ""},
		"register window, skew of a file": {"register window", "skew of a file"}, "CTA zero, skew zipf:1": {"CTA zero", "skew zipf:1"}, "register windows": {"", "register windows"},
	} {
		name, rest := policy.Split(setup)
		require.Equal(t, want, [2]string{name, rest}, setup)
	}
	require.False(t, policy.Named(""))
	require.False(t, policy.Named("run 2"))
}

// Each condition is named, and without it the policy is served.
func TestEachConditionIsNamed(t *testing.T) {
	copies := policy.Policy{Register: policy.Window, CTA: policy.Zero}
	efficient := policy.Policy{Register: policy.Buffer, CTA: policy.Efficiency}
	lacks := func(missing ...string) func(...string) string {
		return func(symbols ...string) string {
			if i := slices.IndexFunc(symbols, func(s string) bool { return slices.Contains(missing, s) }); i >= 0 {
				return "nccl." + symbols[i]
			}
			return ""
		}
	}
	rccl := func(version string) policy.Library {
		return policy.Library{Name: "RCCL " + version, Version: version, Lacks: lacks()}
	}
	nccl, without, old := rccl("2.30.4"), rccl("2.30.4"), rccl("2.30.6")
	nccl.NCCL, old.CUMem = true, true
	without.Lacks = lacks("windowRegister", "commRegister", "commInitConfig")
	for _, c := range []struct {
		p     policy.Policy
		of    string
		nodes int
		l     policy.Library
		want  string
	}{
		{policy.Policy{}, "all_reduce", 4, without, ""},
		{policy.Policy{Register: policy.Window}, "all_reduce", 1, rccl("2.30.4"), ""},
		{copies, "all_gather", 1, rccl("2.30.4"), ""},
		{copies, "all_gather", 1, rccl(""), ""},
		{copies, "scatter", 4, old, ""},
		{efficient, "all_gather", 1, nccl, ""},
		{policy.Policy{Register: policy.Window}, "all_gather", 1, without, "RCCL 2.30.4 has no nccl.windowRegister"},
		{policy.Policy{Register: policy.Buffer}, "all_gather", 1, without, "has no nccl.commRegister"},
		{policy.Policy{CTA: policy.Zero}, "all_gather", 1, without, "has no nccl.commInitConfig"},
		{copies, "all_gather", 1, rccl("2.26.6"), "RCCL 2.26.6 has no CTA policies"},
		{copies, "all_gather", 1, rccl("2.27.7"), "2.28.3"},
		{copies, "all_reduce", 1, rccl("2.30.4"), "reduce none"},
		{copies, "reduce_scatter", 1, rccl("2.30.4"), "reduce none"},
		{copies, "broadcast", 1, rccl("2.30.4"), "do not serve broadcast"},
		{copies, "send_recv", 1, rccl("2.30.4"), "do not serve send_recv"},
		{policy.Policy{CTA: policy.Zero}, "all_gather", 1, rccl("2.30.4"), "--register window"},
		{policy.Policy{Register: policy.Buffer, CTA: policy.Zero}, "all_gather", 1, rccl("2.30.4"), "--register window"},
		{copies, "all_gather", 2, rccl("2.30.4"), "2.30.6"},
		{copies, "all_gather", 2, rccl("2.30.6"), "NCCL_CUMEM_ENABLE=1"},
		{efficient, "all_gather", 1, rccl("2.30.4"), "NVLS"},
		{efficient, "all_reduce", 1, nccl, "not all_reduce"},
		{policy.Policy{Register: policy.Window, CTA: policy.Efficiency}, "all_gather", 1, nccl, "--register buffer"},
	} {
		of, err := collective.ByName(c.of)
		require.NoError(t, err)
		got := c.p.Unserved(of, c.nodes, c.l)
		if c.want == "" {
			require.Empty(t, got, c)
		} else {
			require.Contains(t, got, c.want, c)
		}
	}
}

// The library's lines of tuning, as NCCL 2.30.7 writes them, say what ran the last launch; a collective without a line is
// made of messages.
func TestLoggedLinesSayWhatRan(t *testing.T) {
	const log = `host:11:12 [0] NCCL INFO AllGather: 2097152 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..63}
host:11:12 [0] NCCL INFO AllReduce: 4 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..0}
host:11:12 [0] NCCL INFO AlltoAll [Copy Engine]: 131072 Bytes -> cudaMemcpy; CE synchronization with NVLS
host:11:12 [0] NCCL INFO ReduceScatter [Symmetric]: 4096 Bytes -> Kernel ReduceScatter_LD nchannels 8 nthreads 512 nWorks 1
host:11:12 [0] NCCL INFO AllGather [Hierarchical CE]: 2097152 Bytes -> RMA proxy + CE
`
	zero := policy.Policy{Register: policy.Window, CTA: policy.Zero}
	for name, want := range map[string]struct {
		by     string
		denied bool
	}{
		"all_gather": {"Hierarchical CE", false}, "all_reduce": {"TREE", true}, "all_to_all": {"Copy Engine", false},
		"reduce_scatter": {"Symmetric", true}, "scatter": {"messages", true},
	} {
		c, err := collective.ByName(name)
		require.NoError(t, err)
		ran := policy.Logged([]byte(log), c)
		require.Equal(t, want.by, ran.By, name)
		require.Equal(t, want.denied, zero.Denied(ran) != "", name)
		require.Empty(t, policy.Policy{Register: policy.Window}.Denied(ran), "windows alone ask for no kind")
		require.NotEmpty(t, policy.Policy{Register: policy.Buffer, CTA: policy.Efficiency}.Denied(ran))
	}
	require.Empty(t, zero.Denied(policy.Ran{}), "nobody knows")
	require.Empty(t, policy.Policy{CTA: policy.Efficiency}.Denied(policy.Ran{By: "NVLS_TREE"}))
}
