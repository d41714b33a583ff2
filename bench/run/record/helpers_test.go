package record

import (
	"strings"
	"time"

	"zbench/bench/base/finding"
	"zbench/bench/base/stat"
	"zbench/bench/hardware/policy"
	"zbench/bench/job/trainer"
	"zbench/bench/run/spec"
)

// full is a record that uses every field of the format: a test holds it so.
func full() *Record {
	sample := make([]float64, 120)
	for i := range sample {
		sample[i] = 1e-5 + float64(i*77%120)*1e-8 // in no order: they are worth what they count
	}
	ok := Result{
		Case: Case{Key: Key("all_reduce", "float", "sum", 1<<20, 16, 1, false), Status: OK, Verified: Verified{State: VerifiedOK, Wrong: new(int64), Launches: 1}, Warnings: []Warning{{Code: "skew", Message: "spread 12 % <of ranks>", Hint: "see rails"}, {Code: "few", Message: "one"}}}, Collective: "all_reduce", Dtype: "float", Op: "sum",
		BytesRequested: 1 << 20, Bytes: 1 << 20, Count: 1 << 18, Ranks: 16, Nodes: 2, GPUsPerProcess: 1,
		Burst: &Timing{Iterations: 20, MeanOfRanks: stat.Summarize(sample), MaxOfRanks: stat.Summarize(sample[:7]), Rounding: &Interval{Lo: 0.9e-5, Hi: 1.2e-5}},
		Isolated: &Timing{
			Iterations: 1, MaxOfRanks: stat.Summarize(sample[:1]), Spread: stat.Summarize(sample[:3]), Stop: "precision",
			Late: []LateCount{{Rank: 3, Count: 7}}, Discarded: 1, EventFloor: new(5e-7), Rounding: &Interval{Lo: 1e-5, Hi: 2e-5},
		},
		Groups: 4, Stride: 2, Setup: "node-a:0", SlowestGroup: &SlowestGroup{FirstRank: 2, Median: 3e-5, Typical: 2e-5, Fastest: 1e-5, Slow: []int{1, 2}},
		SlowLaunches: &SlowLaunches{Launches: 80, Groups: []SlowGroup{{FirstRank: 1, Count: 2}, {FirstRank: 2, Count: 9}}},
		Extrapolated: true, Bracket: &Bracket{Seconds: 2e-3, Fastest: 1e-3, Slowest: 8e-3},
	}
	ok.NICs = nics()
	ok.SetHeadline(2 * 15.0 / 16)
	skipped := Result{
		Case: Case{Key: Key("all_gather", "float", "", 8, 16, 1, true), Status: Skipped, Reason: "rounds to 0, \"8 B\"", Verified: Verified{State: NotVerified, Reason: "not run"}}, Collective: "all_gather", Dtype: "float",
		BytesRequested: 8, Ranks: 16, Nodes: 2, GPUsPerProcess: 1, InPlace: true,
	}
	hung := skipped
	hung.Warnings = []Warning{}
	hung.Key, hung.Status, hung.Reason = "hung", Failed, "not finished at the deadline"
	hung.Evidence = &Evidence{During: DuringWarmUp, Deadline: new(180.0), Iterations: 5}
	hung.Evidence.SetRanks([]RankProgress{{Enqueued: 5, Started: 4, Ended: 3, Error: "remote process exited"}, {Enqueued: 5, Started: 3, Ended: 3}})
	hung.Evidence.Suspects, hung.Evidence.Certain = "1", true
	hung.Evidence.Witness = &Witness{
		Source: "RAS at localhost:28028", State: WitnessDegraded, Reason: "r", Library: "2.28.3",
		Communicators: []WitnessComm{{ID: "3b2f", Count: 1, Ranks: 16, Answered: 15, Status: "INCOMPLETE"}},
		Ranks:         []WitnessRank{{State: RankMissing, Rank: new(6), Communicator: "3b2f", Host: "192.0.2.7", PID: 7, GPU: "6", Detail: "d"}, {State: RankDead}}, More: 1,
	}
	return &Record{
		Schema: Schema, Run: strings.Repeat("a5", 16), Tool: Tool{"zbench", "0.1.0"}, Created: time.Date(2026, 11, 20, 9, 8, 7, 0, time.UTC),
		Source: Source{
			Kind: Imported, Backend: "rocm", Clock: "monotonic", Driver: "amdgpu 6.8.5", Environment: map[string]string{"NCCL_ALGO": "Ring"},
			Libraries: []Library{{Name: "librccl", Version: "2.22.3", Path: "librccl.so.1"}},
			Imports: []Import{{
				File: "a.log", SHA256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
				Tool: "rccl-tests", Version: "2.12", Lines: 60, Rows: 24, Truncated: true,
				Skipped:         []Skip{{"cut off", 1, []int{60}}},
				ReportedAverage: new(1.42e11),
			}},
		},
		World: World{World: spec.World{Nodes: 2, GPUsPerNode: 8, GPUsPerProcess: 1, RanksPerGPU: 2}, Ranks: 16, GPU: "MI300X", Hosts: []string{"n0", "n1"}, Devices: []Device{
			{Index: 1, Name: "AMD Instinct MI300X", PCI: "0000:05:00.0", Bytes: 192 << 30, PeakBandwidth: new(5.3e12), PeakSource: "data sheet, 2023-12"},
			{Name: "another", Bytes: 1},
		}},
		Fabric: &Fabric{
			Name: "mi300x-pollara", Title: "MI300X, Pollara", Roofs: []Roof{{"rails", 4e11, "data sheet"}},
			Extrapolated: []string{"beyond 2 nodes"}, Sources: []string{"a page"},
			Bracket: &Ends{Fastest: "flat", Slowest: "falling", Factor: 27},
		},
		Spec: &spec.Spec{
			Schema: spec.Schema, Benchmark: spec.Collectives, Backend: "loopback", Fabric: "mi300x-pollara", Seed: 1<<64 - 1, Faults: []string{"noise:sigma=0.05"},
			World: spec.World{Nodes: 2, GPUsPerNode: 8, GPUsPerProcess: 1, RanksPerGPU: 2},
			Sweep: &spec.Sweep{
				Collectives: []string{"all_reduce", "all_gather"}, MinBytes: 8, MaxBytes: 1 << 20, Factor: 2, StepBytes: 4096, Sizes: []int64{64, 4096}, Calls: policy.Calls{GraphLaunches: 3, Aggregate: 2}, Roots: []int{1}, Groups: []int{2, 4}, Strides: []int{8}, Scales: []int{1},
				Dtype: "float", Op: "sum", InPlace: []bool{false, true}, Iterations: 20, Warmup: 5, Checks: 1,
				Precision: 0.01, MaxTime: 0.4, Cache: "cold", VerifyBudget: 1 << 20, KeepSamples: true, FixedSizes: true,
			},
			Advice: &spec.Advice{
				Framework: "megatron", Preset: "llama3-8b", Total: 1, Layers: 2, Largest: 3, DP: 4, EP: 5, PP: 6, TP: 2, CP: 2, Instances: 7, Accum: 8, Zero: new(1),
				Model: &trainer.Model{Name: "list.csv", Source: "the file list.csv", Listed: true, ActiveParams: 3, Notes: []string{"a note"}, Params: []trainer.Param{
					{Name: "w", Elements: 6, Shape: []int64{2, 3}, Expert: true, Alone: true, Block: 1, Work: new(6.0)}, {Name: "b", Elements: 1}, {Name: "c", Frozen: 1},
				}},
				Config:    &spec.Config{File: "train.sh", Settings: []trainer.Setting{{Key: "zero", Value: "", Unset: "$Z"}, {Key: "bf16", Value: "true"}}},
				Optimizer: "muon", GradDtype: "float", ParamDtype: "bfloat16", Backward: 0.1, Forward: 0.05, Step: 0.15, Tokens: 4096, Active: 9, Flops: 2e14,
				Recompute: true, MemBudget: 1 << 30, Rescale: true,
			},
		},
		Added:    []Added{{Extension, []string{"a"}}},
		Results:  []Result{ok, skipped, hung},
		Warnings: []Warning{{Code: "imported", Message: "one sample of unknown spread"}},
		Judgement: &finding.Judgement{Rules: 1, State: finding.Fail, Findings: finding.List{{
			Code: "late", Severity: finding.Fault, Subject: &finding.Subject{Kind: finding.Rank, Name: "rank 3", Nodes: []string{"n0"}},
			Text: "Late: rank 3.", Hint: "Look at it.", Share: 0.25, Evidence: []string{"in 9 of 10 launches"},
		}, {
			Code: "late", Severity: finding.Fault, Text: "Unclear which nodes are late.",
			Candidates: []finding.Subject{{Kind: finding.Node, Name: "node 0"}, {Kind: finding.Node, Name: "node 1"}},
		}}},
	}
}

// bare is a record with nothing in it but what the format always has.
func bare() *Record {
	return &Record{
		Schema: Schema, Source: Source{Kind: Simulated, Imports: []Import{{SHA256: full().Source.Imports[0].SHA256}}}, Simulated: true,
		Fabric: &Fabric{}, Spec: &spec.Spec{Schema: spec.Schema, Benchmark: spec.Collectives, Backend: "rocm", Sweep: &spec.Sweep{Factor: 2, Cache: "warm", InPlace: []bool{true}}},
		Results: []Result{{Case: Case{Key: "k", Status: Failed, Reason: "out of memory", Verified: Verified{State: NotVerified}}, Collective: "all_reduce"}},
	}
}
