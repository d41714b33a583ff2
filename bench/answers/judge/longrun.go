package judge

import (
	"fmt"
	"math"

	"zbench/bench/base/stat"
	"zbench/bench/base/unit"
	"zbench/bench/run/record"
	"zbench/bench/show/table"
)

// LongRunSetting is a setting of a training run, with its formula.
type LongRunSetting struct {
	Name, Value string
	// Why is the formula with its numbers. Source is the description of the setting.
	Why, Source string
}

// LongRun has settings for a long training run. They follow from the slowest measured operation of
// all ranks.
type LongRun struct {
	// Tail is the slowest operation in seconds: its 99th percentile, or its largest value with
	// fewer than 100 samples.
	Tail float64
	// Of names the case and the statistic of the tail.
	Of string
	// Watchdog is the time after which an operation counts as hung, in seconds.
	Watchdog float64
	// List are the settings.
	List []LongRunSetting
	// Simulated is true if the tail comes from a model.
	Simulated bool
}

const (
	// factor and floor (in seconds) follow zbench's own deadline for a batch of launches. The floor is a
	// minute, because the ranks of a training are less synchronous.
	factor, floor = 20, 60
	// torchTimeout and torchHeartbeat are PyTorch's defaults in
	// torch/csrc/distributed/c10d/ProcessGroupNCCL, in seconds: 10 minutes
	// (kProcessGroupNCCLDefaultTimeout) and 8 minutes (TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC).
	torchTimeout, torchHeartbeat = 600, 480
	// heartbeatMargin is the watchdog's time for writing its traces after its timeout.
	heartbeatMargin = 120
	// ackUnit is the unit of the NIC's timeout, 4.096 µs · 2^NCCL_IB_TIMEOUT; a NIC may wait up to
	// 4 times as long, and retries 7 times (InfiniBand Architecture Specification; NCCL user
	// guide).
	ackUnit, ackSlack, ackRetries = 4.096e-6, 4, 7
)

// SettingsOf derives settings from a record; nil if it has no time of an operation of all ranks.
func SettingsOf(rec *record.Record) *LongRun {
	s := &LongRun{Simulated: rec.Simulated}
	for _, r := range rec.Each() {
		s.take(r, rec.World.Ranks)
	}
	if s.Tail <= 0 {
		return nil
	}
	s.Watchdog = 10 * math.Ceil(max(floor, factor*s.Tail)/10)
	s.List = s.list(rec.World.Ranks, rec.World.Nodes)
	return s
}

// take keeps the tail of a result if it is slower than the tail so far.
func (s *LongRun) take(r *record.Result, ranks int) {
	if r.Status != record.OK || r.Ranks != ranks || r.Ranks < 2 {
		return
	}
	var of *stat.Summary
	if r.Isolated != nil {
		of = r.Isolated.MaxOfRanks
	}
	if of == nil {
		return
	}
	tail, what := of.Max, fmt.Sprintf("the slowest of %d launches", of.N)
	if of.P99 != nil {
		tail, what = *of.P99, fmt.Sprintf("the 99th percentile of %d launches", of.N)
	}
	if tail > s.Tail {
		s.Tail, s.Of = tail, fmt.Sprintf("%s at %s: %s", r.Collective, unit.Bytes(r.Bytes), what)
	}
}

// list returns the settings for a number of ranks and nodes.
func (s *LongRun) list(ranks, nodes int) []LongRunSetting {
	hours := func(seconds float64) string { return unit.Number(math.Ceil(float64(ranks) * seconds / 3600)) }
	const variables = "PyTorch documentation, ProcessGroupNCCL environment variables"
	out := []LongRunSetting{
		{
			"timeout of init_process_group", fmt.Sprintf("timedelta(seconds=%.0f + PAUSE)", s.Watchdog),
			fmt.Sprintf("max(%d s, %d × %s), rounded up to 10 s. PAUSE is the longest time for which one rank keeps the others waiting: checkpoint, evaluation, compilation. A hang costs %s GPU-hours then, instead of %s with the default of %d s",
				floor, factor, unit.Seconds(s.Tail), hours(s.Watchdog), hours(torchTimeout), torchTimeout),
			"PyTorch documentation, torch.distributed.init_process_group",
		},
		{
			"TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", fmt.Sprintf("%.0f + PAUSE", max(torchHeartbeat, s.Watchdog+heartbeatMargin)),
			fmt.Sprintf("max(%d s, the default; the timeout + %d s): the watchdog must be able to report and to write its traces before its process is ended", torchHeartbeat, heartbeatMargin),
			variables,
		},
		{"TORCH_NCCL_DUMP_ON_TIMEOUT", "1", "each rank writes its last operations when the timeout passes, which shows who is missing", variables},
		{"TORCH_NCCL_TRACE_BUFFER_SIZE", "2000", "the number of operations that are kept for that; 0 keeps none", variables},
	}
	if nodes > 1 {
		t := s.ackTimeout()
		out = append(out, LongRunSetting{
			"NCCL_IB_TIMEOUT", fmt.Sprint(t),
			fmt.Sprintf("the largest value, from 18 to 22, with which the NIC gives up before the watchdog, so that the error names the NIC: %d retries of 4.096 µs · 2^%d = %s, at most %d times as long",
				ackRetries, t, unit.Seconds(ackRetries*ackUnit*math.Exp2(float64(t))), ackSlack),
			"NCCL user guide, NCCL_IB_TIMEOUT and NCCL_IB_RETRY_CNT",
		})
	}
	return out
}

// ackTimeout returns the largest exponent with which all retries end within the watchdog's time.
func (s *LongRun) ackTimeout() int {
	const least, most = 18, 22
	return min(most, max(least, int(math.Floor(math.Log2(s.Watchdog/(ackSlack*ackRetries*ackUnit))))))
}

// Lead describes the basis of the settings.
func (s *LongRun) Lead() string {
	text := fmt.Sprintf("They follow from the slowest operation of all ranks, %s (%s).", unit.Seconds(s.Tail), s.Of)
	if s.Simulated {
		text += " SIMULATED: measure on the cluster before you set them."
	}
	return text
}

// Table returns a table with a row for each setting.
func (s *LongRun) Table() table.Table {
	t := table.Table{Columns: []table.Column{{Name: "setting"}, {Name: "value"}, {Name: "why", Wrap: table.Sentences}, {Name: "source", Wrap: table.Words}}}
	for _, x := range s.List {
		t.Add(x.Name, x.Value, x.Why, x.Source)
	}
	return t
}

// IssueTable returns a table with a row for each known issue that applies.
func IssueTable(issues []KnownIssue) table.Table {
	t := table.Table{Columns: []table.Column{{Name: "known issue", Wrap: table.Sentences}, {Name: "costs", Wrap: table.Sentences}, {Name: "next", Wrap: table.Sentences}, {Name: "source", Wrap: table.Words}}}
	for _, x := range issues {
		t.Add(x.What, x.Cost, x.Next, x.Source)
	}
	return t
}
