package signs

import (
	"zbench/bench/base/finding"
	"zbench/bench/base/pattern"
)

// Sign is a log line in which a program, a library or the kernel states a defect.
type Sign struct {
	// Code names the kind of finding. Several signs may share a code.
	Code string
	// Has are words of which the line must contain at least one. Only such lines are matched
	// against the pattern, which saves time.
	Has []string
	// Pattern matches the line. The line's subject is the host in the library's prefix, or else the
	// match of the last group: a host, or the address of a GPU or NIC.
	Pattern *pattern.Pattern
	// Where names the origin of the line: the library, a program, the launcher, the kernel, a
	// trainer.
	Where string
	// Means describes the defect. Next is the remedy.
	Means, Next string
	Severity    finding.Severity
	// Fatal is true if the defect ended the run.
	Fatal bool
	// Ethernet is true if the line is normal on hosts without RDMA NICs. It is only a finding if
	// another process has RDMA NICs, or if it comes from several hosts with GPUs whose clusters
	// usually have them.
	Ethernet bool
	// Source says where the line was seen.
	Source string
}

// Blocking is the code of the sign that a program waits after each step.
const Blocking = "blocking"

const around = "the run is incomplete: read the log around this line"

// table has the signs. A line has the first sign that matches, so specific signs come before
// general signs. A row without a meaning states which network a process uses, which decides whether
// other signs count.
var table = []Sign{
	{Code: "nics", Has: []string{"NET/IB : Using ["}, Pattern: pattern.New(`NET/IB : Using \[\d+\]\w`), Where: "library", Source: "NVIDIA/nccl#1537"},
	{Code: "plugin", Has: []string{"Using network"}, Pattern: pattern.New(`Using network [^SI\s]`), Where: "library", Source: "aws/aws-ofi-nccl"},
	{Code: "max_bytes_reduced", Has: []string{"# Reducing maxBytes"}, Pattern: pattern.New(`# Reducing maxBytes`), Where: "program", Means: "the sizes were cut", Next: "free device memory, or run with -c 0: the sweep ends below the size that was asked for", Severity: finding.Note, Source: "NVIDIA/nccl-tests#322"},
	{Code: Blocking, Has: []string{"# Blocking Enabled"}, Pattern: pattern.New(`# Blocking Enabled`), Where: "program", Means: "the program waits after each step", Next: "compare these times only with other blocking runs: they include the wait", Severity: finding.Note, Source: "ROCm/rccl-tests ae3e635, run with -z 1"},
	{Code: "test_timeout", Has: []string{"Test timeout"}, Pattern: pattern.New(`(?:(\S+): )?Test timeout`), Where: "program", Means: "a collective hung", Next: "find the host that the line names; the sweep is incomplete", Severity: finding.Fault, Fatal: true, Source: "ROCm/rccl-tests ae3e635, run with -T 2 on ranks of which one hangs"},
	{Code: "test_failure", Has: []string{"Test NCCL failure", "Test CUDA failure", "Test HIP failure", "Test failure", "test failure", "# error:"}, Pattern: pattern.New(`(?:(\S+): )?(?:Test (?:NCCL|CUDA|HIP) failure|[Tt]est failure|# error:)`), Where: "program", Means: "the test program failed", Next: around, Severity: finding.Fault, Fatal: true, Source: "ROCm/rccl-tests#50"},
	{Code: "crash", Has: []string{"Segmentation fault", "exited on signal"}, Pattern: pattern.New(`(?:\[?([\w.-]+):\d+(?::\d+)*\] .*)?Segmentation fault|(?:node (\S+) )?exited on signal`), Where: "launcher", Means: "a process crashed", Next: around, Severity: finding.Fault, Fatal: true, Source: "NVIDIA/nccl#1419"},
	{Code: "cancelled", Has: []string{"CANCELLED"}, Pattern: pattern.New(`(?:ON (\S+) )?CANCELLED (?:AT .*)?DUE TO TIME LIMIT(?: on (\S+) \*)?`), Where: "launcher", Means: "the job ran out of its time", Next: "ask for more time: the run is incomplete", Severity: finding.Warning, Fatal: true, Source: "marbl/canu#1052"},
	{Code: "cancelled", Has: []string{"CANCELLED"}, Pattern: pattern.New(`(?:ON (\S+) )?CANCELLED AT(?:.* on (\S+)$)?`), Where: "launcher", Means: "the job was cancelled", Next: "run it again: the run is incomplete", Severity: finding.Warning, Fatal: true, Source: "a container engine's job log on ault43, 2024-10-09"},
	{Code: "no_rdma", Has: []string{"NET/IB : No device found"}, Pattern: pattern.New(`NET/IB : No device found`), Where: "library", Means: "no RDMA NIC was found: ranks of different hosts talk over TCP sockets", Next: "run rdma link on that host; in a container, pass /dev/infiniband and the driver's library (libibverbs)", Severity: finding.Warning, Ethernet: true, Source: "NVIDIA/nccl#226"},
	{Code: "sockets", Has: []string{"Using network Socket"}, Pattern: pattern.New(`Using network Socket`), Where: "library", Means: "ranks of different hosts talk over TCP sockets, not RDMA", Next: "read why above this line: NCCL_IB_DISABLE, NCCL_IB_HCA, NCCL_NET, or no device", Severity: finding.Warning, Ethernet: true, Source: "sgl-project/sglang#3398"},
	{Code: "gpudirect_off", Has: []string{"GPU Direct RDMA Disabled for HCA"}, Pattern: pattern.New(`GPU Direct RDMA Disabled for HCA`), Where: "library", Means: "a NIC cannot read the GPUs' memory: data pass through the host", Next: "turn on DMA-BUF or the driver of peer memory (NVIDIA: modprobe nvidia_peermem)", Severity: finding.Warning, Source: "NVIDIA/nccl#1537"},
	{Code: "iommu", Has: []string{"from kernel command line"}, Pattern: pattern.New(`Missing "(?:amd_)?iommu=\w+" from kernel command line`), Where: "library", Means: "the IOMMU is not in pass-through mode: transfers between GPUs can hang or be slow", Next: "boot with iommu=pt", Severity: finding.Warning, Source: "ROCm/rccl#1454"},
	{Code: "nic_completion", Has: []string{"Got completion from peer"}, Pattern: pattern.New(`NET/IB ?P?: ?Got completion from peer`), Where: "library", Means: "a NIC gave a message up", Next: "look at the NICs and cables of this host and of the peer that the line names: counters (`zbench rails`), link state, GIDs", Severity: finding.Fault, Source: "NVIDIA/nccl#1405"},
	{Code: "nic_event", Has: []string{"Got async event", "async fatal event on QP"}, Pattern: pattern.New(`Got async event ?: (?:port error|local catastrophic error|device fatal)|async fatal event on QP`), Where: "library", Means: "a NIC or its port failed", Next: "look at dmesg and at the switch's port: a cable, a transceiver or the NIC", Severity: finding.Fault, Source: "NVIDIA/nccl#230"},
	{Code: "memlock", Has: []string{"Cannot allocate memory"}, Pattern: pattern.New(`Call to ibv_\w+ failed with error Cannot allocate memory`), Where: "library", Means: "the limit of locked memory is too small for RDMA", Next: "set ulimit -l unlimited where the processes start (limits.conf, the launcher's service)", Severity: finding.Fault, Source: "NVIDIA/nccl-tests#206"},
	{Code: "versions", Has: []string{"Message truncated", "wrong type"}, Pattern: pattern.New(`NCCL WARN (?:Message truncated|socketFinalizeAccept: wrong type)`), Where: "library", Means: "ranks do not understand each other: libraries of different versions, or other settings", Next: "compare the library's version and the NCCL_ and RCCL_ variables on all hosts", Severity: finding.Fault, Source: "NVIDIA/nccl#1176"},
	{Code: "collective_mismatch", Has: []string{"ismatch"}, Pattern: pattern.New(`collective mismatch error|Mismatched collective detected`), Where: "library", Means: "ranks called different collectives or sizes", Next: "run `zbench trace` on logs of NCCL_DEBUG_SUBSYS=INIT,COLL: it names the rank", Severity: finding.Fault, Source: "NVIDIA/nccl#969"},
	{Code: "peer_closed", Has: []string{"Connection closed by remote peer"}, Pattern: pattern.New(`Connection closed by remote peer`), Where: "library", Means: "another process ended first", Next: "look for the first error in the log of the peer that the line names", Severity: finding.Warning, Source: "NVIDIA/nccl#952"},
	{Code: "library_warning", Has: []string{"NCCL WARN"}, Pattern: pattern.New(`NCCL WARN`), Where: "library", Means: "the library warns", Next: "read the library's warnings before trusting the numbers", Severity: finding.Warning, Source: "NVIDIA/nccl#1905"},
	{Code: "watchdog", Has: []string{"Watchdog caught"}, Pattern: pattern.New(`(?:\[(Rank \d+)\] )?Watchdog caught collective operation timeout`), Where: "trainer", Means: "a collective did not end in the trainer's time limit", Next: "run `zbench trace` on the logs or traces of all ranks: it names who did not call it, or came late", Severity: finding.Fault, Fatal: true, Source: "hiyouga/LlamaFactory#7396"},
	{Code: "gpu_reset", Has: []string{"GPU reset begin"}, Pattern: pattern.New(`amdgpu ([0-9a-f:.]+): (?:amdgpu: )?GPU reset begin`), Where: "kernel", Means: "the driver reset a GPU: its processes are lost", Next: "read dmesg before this line, and run `zbench screen` on the node before its next job", Severity: finding.Fault, Source: "ROCm/legacy-rocm-build#2533"},
	{Code: "gpu_timeout", Has: []string{" timeout, signaled"}, Pattern: pattern.New(`(?:amdgpu ([0-9a-f:.]+): .*|amdgpu_job_timedout.*)ring \S+ timeout`), Where: "kernel", Means: "a GPU does not finish its work", Next: "read dmesg around this line, and run `zbench screen` on the node before its next job", Severity: finding.Fault, Source: "ROCm/legacy-rocm-build#6273"},
	{Code: "gpu_uncorrectable", Has: []string{"uncorrectable hardware error"}, Pattern: pattern.New(`amdgpu ([0-9a-f:.]+):.* (?:[1-9]\d* (?:new )?uncorrectable hardware errors detected|uncorrectable hardware error ?\(.*\) detected)`), Where: "kernel", Means: "a GPU has uncorrectable hardware errors", Next: "read rocm-smi --showrasinfo; take the node out until the GPU was reset and checked", Severity: finding.Fault, Source: "ROCm/legacy-rocm-build#1886"},
	{Code: "gpu_lost", Has: []string{"fallen off the bus"}, Pattern: pattern.New(`(?:NVRM: Xid \(PCI:([0-9a-f:.]+)\).*|NVRM: )(?:GPU has )?fallen off the bus`), Where: "kernel", Means: "a GPU has left the PCIe bus", Next: "check power, riser and cooling of the GPU; reboot the node, and take it out if it happens again", Severity: finding.Fault, Source: "NVIDIA/NVSentinel#155"},
	{Code: "pcie_error", Has: []string{"AER: "}, Pattern: pattern.New(`AER: (?:Multiple )?Uncorrected \((?:Non-)?Fatal\) error received: ([0-9a-f:.]+)`), Where: "kernel", Means: "a PCIe link has uncorrected errors", Next: "read lspci -vv of that address; reseat the card or its riser", Severity: finding.Fault, Source: "flatcar-archive/coreos-overlay#2235"},
	{Code: "link_down", Has: []string{"Link DOWN"}, Pattern: pattern.New(`mlx5_core \S+ (\S+): Port: \d+ Link DOWN`), Where: "kernel", Means: "the port of a NIC lost its link", Next: "check the cable, the transceiver and the switch's port", Severity: finding.Warning, Source: "lore.kernel.org, netkit v6 11/16, 2026-01-13"},
	{Code: "machine_check", Has: []string{"Machine check events logged"}, Pattern: pattern.New(`mce: \[Hardware Error\]: Machine check events logged`), Where: "kernel", Means: "a CPU or its memory had an error that the hardware reported", Next: "read ras-mc-ctl --errors (rasdaemon): corrected errors of one DIMM that repeat are a reason to replace it", Severity: finding.Warning, Source: "mchehab/rasdaemon#95"},
	{Code: "out_of_memory", Has: []string{"Out of memory: Kill"}, Pattern: pattern.New(`Out of memory: Kill(?:ed)? process`), Where: "kernel", Means: "the host ran out of memory and the kernel killed a process", Next: "look at the memory of the job on this host; a process of an earlier job may have stayed", Severity: finding.Warning, Source: "equinor/ert#7797"},
}

// ByCode returns the first sign with a code, or nil.
func ByCode(code string) *Sign {
	for i := range table {
		if table[i].Code == code {
			return &table[i]
		}
	}
	return nil
}
