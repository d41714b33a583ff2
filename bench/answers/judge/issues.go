package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/hardware/flush"
	"zbench/bench/run/record"
)

// IssueFacts are the inputs of known issues. An empty or zero field is unknown; no issue is reported because of an
// unknown field.
type IssueFacts struct {
	// ROCm and RCCL are versions, such as 7.1.1 and 2.27.7.
	ROCm, RCCL string
	// Env looks up a variable of the environment; nil means an empty environment.
	Env func(string) string
	// Pollara is true if the NICs are AMD Pollara (driver ionic).
	Pollara bool
	// Nodes is the number of nodes of the run. GPUs is the number of GPUs used on a node.
	Nodes, GPUs int
	// GPU is the name of the GPUs.
	GPU string
}

// KnownIssue is a version or a setting that is known to hang, to be slow or to corrupt data.
type KnownIssue struct {
	// ID is stable across versions.
	ID string
	// What names the version or the setting. Cost is its effect. Next is the remedy.
	What, Cost, Next string
	// Source is the publication.
	Source string
	// Risk is the worst that can happen; empty if it only costs time or a setting has no effect.
	Risk Risk
}

// Risk is the damage of an issue other than lost time.
type Risk string

// The risks. Corrupts means wrong results without an error: every command that detects such an issue warns of it.
// Hangs means a collective that does not end.
const (
	Corrupts Risk = "wrong results"
	Hangs    Risk = "a hang"
)

// CodeFlush is the ID of the corruption without the GDR flush. Its texts depend on the facts.
const CodeFlush = "gdr_flush"

// row is a known issue with the condition under which it applies.
type row struct {
	KnownIssue
	applies func(f IssueFacts) bool
}

// `known` are all issues, each with its source.
var known = []row{
	{
		KnownIssue{"rocm_7_1_1_scatter", "RCCL of ROCm 7.1.1 with Pollara NICs", "scatter, all_to_all and all_to_allv are slow", "update to ROCm 7.2.0 or newer", "ROCm issue 5717", ""},
		func(f IssueFacts) bool { return f.Pollara && (same(f.ROCm, "7.1.1") || f.RCCL == "2.27.7") },
	},
	{
		KnownIssue{"rocm_7_14_0_middle", "ROCm 7.14.0 on several nodes", "collectives of 64 to 512 MB, the sizes of gradient buckets, are slow", "rebuild RCCL with -DFAULT_INJECTION=OFF, or use another release", "ROCm/TheRock issue 7903", ""},
		func(f IssueFacts) bool { return same(f.ROCm, "7.14.0") && f.Nodes != 1 },
	},
	{
		KnownIssue{"p2p_batch", "RCCL batches messages (RCCL_P2P_BATCH_ENABLE, on by default in 2.27.7) on more than 32 nodes", "all_to_all hangs", "export RCCL_P2P_BATCH_ENABLE=0", "ROCm/rccl pull requests 2011 and 2077", Hangs},
		func(f IssueFacts) bool {
			set := f.env("RCCL_P2P_BATCH_ENABLE")
			return f.Nodes > 32 && f.RCCL != "" && (set == "1" && !newer(f.RCCL, "2.27.7") || set == "" && f.RCCL == "2.27.7")
		},
	},
	{
		KnownIssue{"ib_timeout_range", "NCCL_IB_TIMEOUT is above 31", "the field has 5 bits: the NIC gets another timeout than the one that was meant", "export NCCL_IB_TIMEOUT=20", "InfiniBand Architecture Specification, local ACK timeout; set so in AMD-AGI/Primus' run_slurm.sh", ""},
		func(f IssueFacts) bool { return f.number("NCCL_IB_TIMEOUT") > 31 },
	},
	{
		KnownIssue{"ib_retry_range", "NCCL_IB_RETRY_CNT is above 7", "the field has 3 bits: the NIC gets another number of retries than the one that was meant", "export NCCL_IB_RETRY_CNT=7", "InfiniBand Architecture Specification, retry count; set so in AMD-AGI/Primus' run_slurm.sh", ""},
		func(f IssueFacts) bool { return f.number("NCCL_IB_RETRY_CNT") > 7 },
	},
	{
		KnownIssue{"anp_plugin", "NCCL_NET_PLUGIN names the ANP plugin, which ROCm has built in since 7.2.1", "training was 23.4 % slower on 2 nodes of MI355X (one site)", "unset NCCL_NET_PLUGIN; export RCCL_AINIC_ROCE=1", "AMD-AGI/Primus 03_enable_ainic.sh; one report of a training on MI355X", ""},
		func(f IssueFacts) bool {
			return strings.Contains(f.env("NCCL_NET_PLUGIN"), "anp") && f.ROCm != "" && !newer("7.2.1", f.ROCm)
		},
	},
	{
		KnownIssue{"debug_settings", "a variable for debugging switches a path off (NCCL_P2P_DISABLE, NCCL_SHM_DISABLE or NCCL_IB_DISABLE)", "traffic takes a slower path", "unset it", "NCCL user guide, environment variables: those for debugging are not for production", ""},
		func(f IssueFacts) bool {
			return slices.ContainsFunc([]string{"NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE"}, func(name string) bool { return f.env(name) == "1" })
		},
	},
	{
		KnownIssue{"scratch_reclaim", "HSA_NO_SCRATCH_RECLAIM is not set, and ROCm is older than 6.4.0", "on MI300 kernels wait for scratch memory that is reclaimed", "export HSA_NO_SCRATCH_RECLAIM=1", "rccl-tests README", ""},
		func(f IssueFacts) bool {
			return f.ROCm != "" && newer("6.4.0", f.ROCm) && f.Env != nil && f.env("HSA_NO_SCRATCH_RECLAIM") != "1"
		},
	},
	{
		KnownIssue{"msccl_removed", "RCCL_MSCCL_ENABLE or RCCL_MSCCLPP_ENABLE is set, and ROCm 7.13 has removed MSCCL", "the setting has no effect", "unset it", "RCCL documentation, ROCm 7.13 and 7.14", ""},
		func(f IssueFacts) bool {
			return f.ROCm != "" && !newer("7.13.0", f.ROCm) && f.env("RCCL_MSCCL_ENABLE")+f.env("RCCL_MSCCLPP_ENABLE") != ""
		},
	},
	{
		KnownIssue{"channels_ignored", "NCCL_MIN_NCHANNELS is set, and fewer than 8 GPUs of a node take part", "RCCL ignores it without a message", "unset it, or use all 8 GPUs", "ROCm/rocm-systems issue 11253", ""},
		func(f IssueFacts) bool { return f.number("NCCL_MIN_NCHANNELS") > 0 && f.GPUs > 0 && f.GPUs < 8 },
	},
	{KnownIssue{ID: CodeFlush}, func(f IssueFacts) bool {
		state, _ := f.flush()
		return f.Pollara && f.Nodes != 1 && f.Env != nil && f.rccl() != "" && (state == flush.Off || state == flush.Unknown)
	}},
	{
		KnownIssue{"gdr_flush_hang", "the GDR flush is on, over RCCL's net_ib, with MI350X or MI355X", "all_reduce hangs in builds of RCCL of August 2026: the flush's read does not return", "export NCCL_NET=IB-CAST where the NICs are Pollara, or use a build with ROCm/rocm-systems pull request 10324", "ROCm/rocm-systems pull requests 9692 and 10324", Hangs},
		func(f IssueFacts) bool {
			state, row := f.flush()
			return f.Nodes != 1 && strings.Contains(f.GPU, "MI35") && state == flush.On && row.Hang.Is == "yes"
		},
	},
}

// IssuesOf returns the known issues that apply, in table order.
func IssuesOf(f IssueFacts) []KnownIssue {
	return slice.Map(slice.Where(known, func(r row) bool { return r.applies(f) }), func(r row) KnownIssue {
		if r.ID == CodeFlush {
			return f.unflushed()
		}
		return r.KnownIssue
	})
}

// rccl returns the version of RCCL, by its own report or by the ROCm release.
func (f IssueFacts) rccl() string { return cmp.Or(f.RCCL, flush.Release(release(f.ROCm))) }

func (f IssueFacts) flush() (flush.State, *flush.Row) { return flush.Of(f.rccl(), f.Pollara, f.env) }

// unflushed describes the possible corruption without the flush. The remedy follows from the row of the transport
// and the version.
func (f IssueFacts) unflushed() KnownIssue {
	k := KnownIssue{
		ID:     CodeFlush,
		What:   fmt.Sprintf("Pollara NICs, and it is not known whether RCCL %s runs with the GDR flush, because its network transport is not known", f.rccl()),
		Cost:   "the first message on a new queue pair can arrive as zeros without an error, which a warm-up hides; seen on MI355X (about 35 % of attempts with 22 hosts), of MI300X nothing is published, and the cause is not settled",
		Next:   "NCCL_DEBUG=INFO names the transport when a program starts; docs/POLLARA.md has what each does with " + flush.Variable,
		Source: "ROCm/aorta pull request 205 and recipes/race/ainic-gdr-flush-sdc.yaml, 2026-06",
		Risk:   Corrupts,
	}
	_, row := f.flush()
	if row == nil {
		return k
	}
	k.What = fmt.Sprintf("Pollara NICs, and RCCL %s runs without the GDR flush over %s (%s: %s; default %s, honoured: %s)",
		f.rccl(), row.Transport, flush.Variable, cmp.Or(f.env(flush.Variable), "not set"), row.Default.Is, row.Honoured.Is)
	k.Next, k.Source = row.Advice, k.Source+"; "+row.Honoured.Source
	if row.Honoured.Is == "yes" {
		k.Next += ". " + flush.Cost()
	}
	return k
}

// IssueFactsOf returns the facts of a record, which has no ROCm version.
func IssueFactsOf(rec *record.Record) IssueFacts {
	f := IssueFacts{
		Nodes: rec.World.Nodes, GPUs: rec.World.GPUsPerNode, GPU: rec.World.GPU, Pollara: record.Pollara(rec.World.NICs),
		Env: func(name string) string { return rec.Source.Environment[name] },
	}
	for _, l := range rec.Source.Libraries {
		if strings.Contains(l.Name, "rccl") {
			f.RCCL = l.Version
		}
	}
	return f
}

func (f IssueFacts) env(name string) string {
	if f.Env == nil {
		return ""
	}
	return f.Env(name)
}

// number returns a variable's value, 0 if it is not a number.
func (f IssueFacts) number(name string) int {
	n, _ := strconv.Atoi(f.env(name))
	return n
}

func same(a, b string) bool { return a != "" && plain.Version(release(a), b) == 0 }

// newer reports whether a is a later version than b.
func newer(a, b string) bool { return plain.Version(release(a), release(b)) > 0 }

// release returns a version up to its third part: a fourth is a build number.
func release(version string) string {
	parts := strings.Split(version, ".")
	return strings.Join(parts[:min(3, len(parts))], ".")
}
