package signs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/hardware/signs"
	"zbench/test/project"
)

// seen has a line from the row's source for each sign: the code, the line, what it is about.
var seen = []struct{ code, line, subject string }{
	{"test_timeout", "vm: Test timeout (2s) common.cpp:413", "vm"},
	{"test_failure", "sharbox-ultra: Test NCCL failure common.cu:1285 'internal error - please report this issue to the NCCL developers'", "sharbox-ultra"},
	{"test_failure", " .. sharbox-ultra pid 117738: Test failure common.cu:1161", ""},
	{"crash", "[gpu-node09:332629:0:332629] Caught signal 11 (Segmentation fault: address not mapped to object at address 0x10)", "gpu-node09"},
	{"crash", "prterun noticed that process rank 48 with PID 613162 on node gpu-node07 exited on signal 11 (Segmentation fault).", "gpu-node07"},
	{"cancelled", "slurmstepd: error: *** JOB 3884617 ON node023 CANCELLED AT 2018-08-19T16:30:21 DUE TO TIME LIMIT ***", "node023"},
	{"cancelled", "22%|██▏       | 11/50 [1:55:52<6:50:13, 631.11s/it]slurmstepd: error: *** JOB 42196 ON clr0710 CANCELLED AT 2022-04-14T16:17:16 DUE TO TIME LIMIT ***", "clr0710"},
	{"cancelled", "slurmstepd-phoenix-07: error: *** JOB 1449736 ON phoenix-07 CANCELLED AT 2023-12-03T12:47:09 DUE TO TIME LIMIT ***", "phoenix-07"},
	{"cancelled", "slurmstepd: *** JOB 830329 CANCELLED AT 2018-08-06T17:21:44 DUE TO TIME LIMIT on n447 ***", "n447"},
	{"cancelled", "slurmstepd: error: *** STEP 524549.1 ON ault43 CANCELLED AT 2024-10-09T23:25:32 ***", "ault43"},
	{"cancelled", "slurmstepd: error: *** STEP 557341.0 ON c4-n12 CANCELLED AT 2025-03-11T13:26:25 DUE TO PREEMPTION ***", "c4-n12"},
	{"cancelled", "slurmstepd: *** JOB 6398 CANCELLED AT 2015-09-04T16:40:47 *** on a1a-u2-c10-b1", "a1a-u2-c10-b1"},
	{"max_bytes_reduced", "# Reducing maxBytes to 27951912277 due to memory limitation", ""},
	{"blocking", "# Blocking Enabled: wait for completion and barrier after each collective ", ""},
	{"no_rdma", "ip-172-31-10-182:45407:45407 [0] NCCL INFO NET/IB : No device found.", "ip-172-31-10-182"},
	{"sockets", "llm-bm-infer-service-prod-1738980864555tkay-4005863815:75205:75205 [1] NCCL INFO Using network Socket", "llm-bm-infer-service-prod-1738980864555tkay-4005863815"},
	{"gpudirect_off", "hostname1:25668:27396 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'", "hostname1"},
	{"iommu", `UVOSLinux:2386:2386 [0] /usr/src/debug/rccl/build/hipify/src/init.cc:163 NCCL WARN Missing "iommu=pt" from kernel command line which can lead to system instablity or hang!`, "UVOSLinux"},
	{"nic_completion", "kp-ddp-worker-0:3468:3905 [4] ib_plugin.c:1615 NCCL WARN NET/IB : Got completion from peer 10.216.210.236<54862> with status=12 opcode=0 len=0 vendor err 129 (Recv)", "kp-ddp-worker-0"},
	{"nic_event", "2019-06-02T16:13:44.884Z: [1,12]<stdout>:container-e275-1553839402050-12124-01-000057:815:864 [0] transport/net_ib.cu:80 NCCL WARN NET/IB : Got async event : local catastrophic error", "container-e275-1553839402050-12124-01-000057"},
	{"memlock", "misc/ibvwrap.cc:278 NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory", ""},
	{"versions", "0: compute-st-p4de24xlarge-1:34639:36718 [5] bootstrap.cc:77 NCCL WARN Message truncated : received 256 bytes instead of 4", "compute-st-p4de24xlarge-1"},
	{"collective_mismatch", "10.10.23.10: so-ucloud-10-10-23-10:1307367:1307586 [0] transport/net_ib.cc:1038 NCCL WARN NET/IB : req 0/1 tag 0 peer 10.10.23.6<58683> collective mismatch error, local size 496640 remote size 65536", "so-ucloud-10-10-23-10"},
	{"peer_closed", "server1:6601:6625 [0] include/socket.h:385 NCCL WARN Net : Connection closed by remote peer", "server1"},
	{"library_warning", "h100-28:238:1313 [0] transport/net_ib.cc:139 NCCL WARN communicator encountered a fatal error (detected in ncclIbTest)", "h100-28"},
	{"watchdog", "[rank4]:[E321 02:07:08.414640780 ProcessGroupNCCL.cpp:607] [Rank 4] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, NumelIn=466119168, NumelOut=466119168, Timeout(ms)=600000) ran for 600067 milliseconds before timing out.", "Rank 4"},
	{"gpu_reset", "Oct  7 12:58:23 Ubuntu-Desktop kernel: [ 2237.944732] amdgpu 0000:0a:00.0: amdgpu: GPU reset begin!", "0000:0a:00.0"},
	{"gpu_timeout", "[127033.279661] amdgpu 0000:c5:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=2662395, emitted seq=2662397", "0000:c5:00.0"},
	{"gpu_uncorrectable", "amdgpu 0000:0b:00.0: 1048560 uncorrectable hardware errors detected in umc block", "0000:0b:00.0"},
	{"gpu_uncorrectable", "[Sat Jan  7 14:25:56 2023] amdgpu 0000:e3:00.0: amdgpu: uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!", "0000:e3:00.0"},
	{"gpu_lost", "NVRM: Xid (PCI:0000:44:00): 79, GPU has fallen off the bus", "0000:44:00"},
	{"pcie_error", "pcieport 000c:00:01.0: AER: Uncorrected (Non-Fatal) error received: 000c:00:00.0", "000c:00:00.0"},
	{"link_down", "[  309.261822] mlx5_core 0000:0a:00.0 mlx5_0: Port: 1 Link DOWN", "mlx5_0"},
	{"machine_check", "[  310.396113] mce: [Hardware Error]: Machine check events logged", ""},
	{"out_of_memory", "Out of memory: Killed process 1440763 (perl) total-vm:87033376kB, anon-rss:60356340kB, file-rss:0kB, shmem-rss:0kB, UID:21417 pgtables:169956kB oom_score_adj:0", ""},
	{"link_down", "[ 4443.974372] mlx5_core 0000:53:00.0 mlx5_3: Port: 1 Link DOWN", "mlx5_3"},
}

// healthy are lines of logs in which nothing is wrong, by the code that they are near.
var healthy = map[string][]string{
	"test_timeout":        {"# nThread 1 nGpus 1 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 timeout: 0"},
	"test_failure":        {"# Out of bounds values : 0 OK", "# Collective test concluded: all_reduce_perf"},
	"crash":               {"prterun noticed nothing", "NCCL_DEBUG signal handling on"},
	"cancelled":           {"slurmstepd: info: JOB 38193 ON gra533 COMPLETED"},
	"max_bytes_reduced":   {"# nThread 1 nGpus 1 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 1 iters: 20"},
	"blocking":            {"# Non-Blocking"},
	"no_rdma":             {"hosta:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>"},
	"sockets":             {"hosta:1:1 [0] NCCL INFO Using network IB"},
	"gpudirect_off":       {"hosta:1:1 [0] NCCL INFO NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'", "hosta:1:1 [0] NCCL INFO GPU Direct RDMA Disabled for GPU ca000 / HCA 0 (distance 7 > 4)"},
	"iommu":               {"Kernel command line: BOOT_IMAGE=/vmlinuz iommu=pt"},
	"nic_completion":      {"hosta:1:1 [0] NCCL INFO Connected all rings"},
	"nic_event":           {"hosta:1:1 [0] NCCL INFO NET/IB : Got async event : GID table change"},
	"memlock":             {"max locked memory (kbytes, -l) unlimited"},
	"versions":            {"RCCL version : 2.22.3-HEAD:5ed2a80"},
	"collective_mismatch": {"hosta:1:1 [0] NCCL INFO AllReduce: opCount 28c sendbuff 0x1 recvbuff 0x1 count 1 datatype 7 op 0 root 0 comm 0x1 [nranks=4] stream 0x1"},
	"peer_closed":         {"hosta:1:1 [0] NCCL INFO comm 0x1 rank 0 nranks 2 - Destroy COMPLETE"},
	"library_warning":     {"NCCL_DEBUG=WARN", "hosta:1:1 [0] NCCL INFO NCCL_DEBUG set by environment to WARN."},
	"watchdog":            {"[rank0]:[I ProcessGroupNCCL.cpp:900] [Rank 0] ProcessGroupNCCL watchdog thread started!"},
	"gpu_reset":           {"amdgpu 0000:12:00.0: amdgpu: detected ip block number 6 <gfx_v10_0>", "amdgpu 0000:0a:00.0: amdgpu: RAS: optional ras ta ucode is not available"},
	"gpu_timeout":         {"[5621799.208840] amdgpu 0000:83:00.0: amdgpu: ring gfx_0.0.0 uses VM inv eng 0 on hub 0", "amdgpu 0000:c5:00.0: amdgpu: ring gfx_0.0.0 uses VM inv eng 0"},
	"gpu_uncorrectable":   {"[Sat Jan  7 14:25:56 2023] amdgpu 0000:e3:00.0: amdgpu: MEM ECC is active.", "amdgpu 0000:c3:00.0: amdgpu: no uncorrectable hardware errors detected in umc block", "amdgpu 0000:c3:00.0: amdgpu: 0 uncorrectable hardware errors detected in umc block"},
	"gpu_lost":            {"NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.183.01"},
	"pcie_error":          {"pcieport 0000:00:01.0: AER: enabled with IRQ 27"},
	"machine_check":       {"Sep 16 19:51:15 kernel: [    0.043437] mce: CPU supports 7 MCE banks"},
	"out_of_memory":       {"oom_reaper: reaped process 1440763 (perl), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB"},
	"link_down":           {"[ 4450.320122] mlx5_core 0000:53:00.0 mlx5_3: Port: 1 Link ACTIVE", "[ 4450.318539] mlx5_core 0000:53:00.0 enp83s0f0np0: Link up"},
}

func of(cluster bool, lines ...string) []signs.Found {
	var r signs.Reader
	for i, line := range lines {
		r.Take(i+1, line)
	}
	return r.Found(cluster)
}

// Every sign is met by a real line and names what it is about; what a healthy log has near it is none.
func TestSigns(t *testing.T) {
	met := map[string]bool{}
	for _, x := range seen {
		var r signs.Reader
		s := r.Take(7, x.line)
		require.NotNil(t, s, x.line)
		require.Equal(t, x.code, s.Code, x.line)
		met[s.Code] = true
		require.NotEmpty(t, s.Source)
		require.NotEmpty(t, s.Means)
		require.NotEmpty(t, s.Next)
		require.NotEmpty(t, s.Where)
		if x.subject != "" {
			found := append(of(true, x.line, "b:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB"), signs.Found{})
			require.Equal(t, []string{x.subject}, found[0].Subjects, x.line)
		}
	}
	for _, s := range signs.All() {
		code := s.Code
		if s.Means == "" { // it qualifies others
			continue
		}
		require.True(t, met[code], "no line for %s", code)
		require.NotEmpty(t, healthy[code], "no healthy line for %s", code)
		require.Empty(t, of(true, healthy[code]...), code)
	}
}

// Logs that others published of runs in which nothing was wrong have no sign but those of their network.
func TestDataHealthyLogs(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(project.Published(t, "logs"), "*.log"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Empty(t, of(true, strings.Split(string(text), "\n")...), file)
	}
}

// Sockets are a finding where another host has RDMA NICs, or over several hosts of a cluster's GPUs; not on one host, not
// on hosts whose GPUs come without, and not where a plugin is the network.
func TestSocketsAreUsualOnEthernet(t *testing.T) {
	socket := func(host string) []string {
		return []string{host + ":1:1 [0] NCCL INFO NET/IB : No device found.", host + ":1:1 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>", host + ":1:1 [0] NCCL INFO Using network Socket"}
	}
	two := append(socket("a"), socket("b")...)
	require.Empty(t, of(true, socket("a")...))
	require.Empty(t, of(false, two...))
	require.Len(t, of(true, two...), 2)
	mixed := of(false, append(two[:3:3], "b:1:1 [0] NCCL INFO NET/IB : Using [0]ionic_0:1/RoCE [RO]; OOB eth0:10.0.0.2<0>", "b:1:1 [0] NCCL INFO Using network IB")...)
	require.Len(t, mixed, 2)
	require.Equal(t, []string{"a"}, mixed[0].Subjects)
	require.Empty(t, of(true, append(two, "b:1:1 [0] NCCL INFO Using network AWS Libfabric")...))
}

// Lines are counted, the first is kept, and subjects stand once.
func TestSignsAreCounted(t *testing.T) {
	line := func(host string) string { return host + ":1:1 [0] x.cc:1 NCCL WARN something" }
	found := of(false, "healthy", line("a"), line("b"), line("a"))
	require.Len(t, found, 1)
	require.Equal(t, 2, found[0].Line)
	require.Equal(t, 3, found[0].Count)
	require.Equal(t, []string{"a", "b"}, found[0].Subjects)
}
