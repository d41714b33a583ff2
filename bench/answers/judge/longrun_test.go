package judge_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/judge"
	"zbench/bench/base/stat"
	"zbench/bench/run/record"
)

type env map[string]string

func (e env) get(name string) string { return e[name] }

// Each row applies where its source says, and not beside it.
func TestKnownIssues(t *testing.T) {
	none := env{}.get
	tried := map[string]bool{}
	for _, c := range []struct {
		id      string
		with    judge.IssueFacts
		without []judge.IssueFacts
	}{
		{
			"rocm_7_1_1_scatter",
			judge.IssueFacts{ROCm: "7.1.1.70101-38", Pollara: true},
			[]judge.IssueFacts{{ROCm: "7.1.1"}, {ROCm: "7.2.0", Pollara: true}, {ROCm: "7.1.10", Pollara: true}, {Pollara: true}},
		},
		{"rocm_7_14_0_middle", judge.IssueFacts{ROCm: "7.14.0"}, []judge.IssueFacts{{ROCm: "7.14.0", Nodes: 1}, {ROCm: "7.14.1"}}},
		{"p2p_batch", judge.IssueFacts{RCCL: "2.27.7", Nodes: 33}, []judge.IssueFacts{
			{RCCL: "2.27.7", Nodes: 32}, {RCCL: "2.28.3", Nodes: 128}, {RCCL: "2.27.7", Nodes: 128, Env: env{"RCCL_P2P_BATCH_ENABLE": "0"}.get},
		}},
		{"p2p_batch", judge.IssueFacts{RCCL: "2.26.6", Nodes: 64, Env: env{"RCCL_P2P_BATCH_ENABLE": "1"}.get}, []judge.IssueFacts{{RCCL: "2.26.6", Nodes: 64}, {Nodes: 64, Env: env{"RCCL_P2P_BATCH_ENABLE": "1"}.get}}},
		{"ib_timeout_range", judge.IssueFacts{Env: env{"NCCL_IB_TIMEOUT": "300"}.get}, []judge.IssueFacts{{Env: env{"NCCL_IB_TIMEOUT": "31"}.get}, {Env: none}}},
		{"ib_retry_range", judge.IssueFacts{Env: env{"NCCL_IB_RETRY_CNT": "20"}.get}, []judge.IssueFacts{{Env: env{"NCCL_IB_RETRY_CNT": "7"}.get}, {Env: none}}},
		{
			"anp_plugin",
			judge.IssueFacts{ROCm: "7.2.1", Env: env{"NCCL_NET_PLUGIN": "librccl-anp.so"}.get},
			[]judge.IssueFacts{{ROCm: "7.2.0", Env: env{"NCCL_NET_PLUGIN": "librccl-anp.so"}.get}, {ROCm: "7.2.1", Env: env{"NCCL_NET_PLUGIN": "none"}.get}},
		},
		{"debug_settings", judge.IssueFacts{Env: env{"NCCL_SHM_DISABLE": "1"}.get}, []judge.IssueFacts{{Env: env{"NCCL_SHM_DISABLE": "0"}.get}, {Env: none}}},
		{
			"scratch_reclaim",
			judge.IssueFacts{ROCm: "6.3.4", Env: none},
			[]judge.IssueFacts{{ROCm: "6.4.0", Env: none}, {ROCm: "6.3.4", Env: env{"HSA_NO_SCRATCH_RECLAIM": "1"}.get}, {Env: none}, {ROCm: "6.3.4"}},
		},
		{
			"msccl_removed",
			judge.IssueFacts{ROCm: "7.13.0", Env: env{"RCCL_MSCCL_ENABLE": "1"}.get},
			[]judge.IssueFacts{{ROCm: "7.2.1", Env: env{"RCCL_MSCCL_ENABLE": "1"}.get}, {ROCm: "7.14.1", Env: none}},
		},
		{
			"channels_ignored",
			judge.IssueFacts{GPUs: 4, Env: env{"NCCL_MIN_NCHANNELS": "112"}.get},
			[]judge.IssueFacts{{GPUs: 8, Env: env{"NCCL_MIN_NCHANNELS": "112"}.get}, {GPUs: 4, Env: none}, {Env: env{"NCCL_MIN_NCHANNELS": "112"}.get}},
		},
		{
			"gdr_flush", // issues_test.go has more
			judge.IssueFacts{ROCm: "7.14.1", Pollara: true, Env: none},
			[]judge.IssueFacts{
				{ROCm: "7.14.1", Env: none},
				{ROCm: "7.14.1", Pollara: true},
				{Pollara: true, Env: none},
				{ROCm: "7.14.1", Pollara: true, Env: none, Nodes: 1},
				{RCCL: "2.30.4", Pollara: true, Env: env{"NCCL_GDR_FLUSH_DISABLE": "0"}.get},
			},
		},
		{
			"gdr_flush_hang",
			judge.IssueFacts{RCCL: "2.30.4", GPU: "AMD Instinct MI355X", Env: env{"NCCL_NET": "IB"}.get},
			[]judge.IssueFacts{
				{RCCL: "2.30.4", GPU: "AMD Instinct MI300X", Env: env{"NCCL_NET": "IB"}.get},
				{RCCL: "2.28.3", GPU: "MI355X", Env: env{"NCCL_NET": "IB"}.get},
				{RCCL: "2.30.4", GPU: "MI355X", Env: env{"NCCL_NET": "IB", "NCCL_GDR_FLUSH_DISABLE": "1"}.get},
				{RCCL: "2.30.4", GPU: "MI355X", Env: env{"NCCL_NET": "IB"}.get, Nodes: 1},
				{RCCL: "2.30.4", Env: env{"NCCL_NET": "IB"}.get},
				{RCCL: "2.30.4", GPU: "MI355X", Env: none},
			},
		},
	} {
		tried[c.id] = true
		got := judge.IssuesOf(c.with)
		require.Len(t, got, 1, c.id)
		require.Equal(t, c.id, got[0].ID)
		for _, text := range []string{got[0].What, got[0].Cost, got[0].Next, got[0].Source} {
			require.NotEmpty(t, text, c.id)
		}
		for _, f := range c.without {
			require.Empty(t, judge.IssuesOf(f), "%s: %+v", c.id, f)
		}
	}
	for _, id := range judge.KnownIssues() {
		require.True(t, tried[id], "%s has no test", id)
	}
	require.Empty(t, judge.IssuesOf(judge.IssueFacts{}), "what is unknown is no issue")
}

// measured is a record with one case of so many ranks, whose slowest launch took so long.
func measured(ranks, nodes int, longest float64, p99 *float64) *record.Record {
	return &record.Record{
		World: record.World{Ranks: ranks},
		Results: []record.Result{{
			Collective: "all_reduce", Bytes: 1 << 30, Ranks: ranks, Nodes: nodes, Case: record.Case{Status: record.OK},
			Isolated: &record.Timing{MaxOfRanks: &stat.Summary{N: 30, Max: longest, P99: p99}},
		}},
	}
}

func TestSettingsFromTheTail(t *testing.T) {
	rec := measured(1024, 128, 0.5, nil)
	rec.World.Nodes = 128
	s := judge.SettingsOf(rec)
	require.Equal(t, 0.5, s.Tail)
	require.Equal(t, 60.0, s.Watchdog, "20 × 0.5 s is below the floor")
	require.Equal(t, "all_reduce at 1 GiB: the slowest of 30 launches", s.Of)
	require.Equal(t, "timedelta(seconds=60 + PAUSE)", s.List[0].Value)
	require.Contains(t, s.List[0].Why, "A hang costs 18 GPU-hours then, instead of 171 with the default of 600 s")
	require.Equal(t, "480 + PAUSE", s.List[1].Value)
	require.Equal(t, "NCCL_IB_TIMEOUT", s.List[4].Name)

	rec = measured(16, 2, 60, new(31.2))
	rec.World.Nodes, rec.Simulated = 2, true
	s = judge.SettingsOf(rec)
	require.Equal(t, 630.0, s.Watchdog, "20 × 31.2 s = 624 s")
	require.Equal(t, "750 + PAUSE", s.List[1].Value)
	require.Contains(t, s.Lead(), "SIMULATED")
	require.Equal(t, "22", s.List[4].Value)

	rec.World.Nodes = 1
	require.Len(t, judge.SettingsOf(rec).List, 4, "one node has no NIC in use")
}

// With the exponent, all retries of a NIC end before the watchdog; with the next one they
// need not, unless a bound decides.
func TestNICGivesUpFirst(t *testing.T) {
	for _, tail := range []float64{0.1, 4, 7, 10, 20, 40, 80} {
		rec := measured(16, 2, tail, nil)
		rec.World.Nodes = 2
		s := judge.SettingsOf(rec)
		var exponent int
		for i := 18; i <= 22; i++ {
			if s.List[4].Value == []string{"18", "19", "20", "21", "22"}[i-18] {
				exponent = i
			}
		}
		longest := func(e int) float64 { return 4 * 7 * 4.096e-6 * math.Exp2(float64(e)) }
		require.True(t, longest(exponent) <= s.Watchdog || exponent == 18, "%g s: %d", tail, exponent)
		require.True(t, longest(exponent+1) > s.Watchdog || exponent == 22, "%g s: %d", tail, exponent)
	}
}

func TestNoSettingsWithoutATail(t *testing.T) {
	require.Nil(t, judge.SettingsOf(&record.Record{}))
	rec := measured(8, 1, 1, nil)
	rec.World.Ranks = 16 // a part of the world
	require.Nil(t, judge.SettingsOf(rec))
	rec = measured(8, 1, 1, nil)
	rec.Results[0].Status = record.Failed
	require.Nil(t, judge.SettingsOf(rec))
}

func TestFactsOfARecord(t *testing.T) {
	rec := measured(1024, 128, 1, nil)
	rec.World.Nodes = 128
	rec.Source.Libraries = []record.Library{{Name: "libamdhip64.so", Version: "7.1.0"}, {Name: "librccl.so", Version: "2.27.7"}}
	rec.Source.Environment = map[string]string{"NCCL_IB_TIMEOUT": "300"}
	issues := judge.IssuesOf(judge.IssueFactsOf(rec))
	require.Len(t, issues, 2)
	require.Equal(t, "p2p_batch", issues[0].ID)
	require.Len(t, judge.IssueTable(issues).Groups[0].Rows, 2)
	require.Len(t, judge.SettingsOf(rec).Table().Groups[0].Rows, 5)
}
