package preflight

import (
	"cmp"
	"fmt"
	"math"
	"strconv"

	"zbench/bench/base/plain"
	"zbench/bench/base/unit"
	"zbench/internal/linux"
)

// coresPerRank is the number of threads of a rank that poll at the same time: the thread that
// launches and waits, and RCCL's proxy progress thread (RCCL 0cbce2a: src/proxy.cc,
// ncclProxyProgress).
const coresPerRank = 2

// cores divides the CPUs of a process by the number of ranks on its host that have the same
// list of CPUs. Lists that overlap only partly count as separate.
func (w *world) cores() []verdict {
	sharing := map[[2]string]int{}
	for _, p := range w.all {
		sharing[[2]string{p.Host, p.Facts.CPUs}] += p.Ranks
	}
	return w.each(func(p *Process) verdict {
		n, known := linux.CountCPUs(p.Facts.CPUs)
		if !known {
			return notChecked("the CPUs of the process are not known")
		}
		ranks := max(sharing[[2]string{p.Host, p.Facts.CPUs}], 1)
		have, of := float64(n), plain.Count(n, "CPU")
		next := fmt.Sprintf("with Slurm --exclusive and --cpu-bind=none, or --cpus-per-task=%d; with mpirun --bind-to none", coresPerRank*max(p.Ranks, 1))
		if q := p.Facts.Quota; q > 0 && q < have {
			have, of = q, fmt.Sprintf("a quota of %s CPUs", strconv.FormatFloat(q, 'g', 3, 64))
			next = "raise the container's CPU limit (--cpus, resources.limits.cpu), or leave it out"
		}
		text := fmt.Sprintf("%s for %s", of, plain.Count(ranks, "rank"))
		if have < float64(coresPerRank*ranks) {
			return warn(fmt.Sprintf("%s; a rank needs %d", text, coresPerRank), next)
		}
		return ok(text)
	})
}

// Limits of locked memory. AMD-AGI/Primus fails a node below 32 GiB (node_smoke, ulimit_l_min_gb).
// 8 MiB is the kernel's default since Linux 5.16 (before: 64 KiB; setrlimit(2), MLOCK_LIMIT). A
// limit of 8 MiB means that it was never changed, and two of RCCL's 4 MiB buffers (NCCL_BUFFSIZE)
// already exhaust it.
const (
	enoughLocked  = 32 << 30
	defaultLocked = 8 << 20
)

func (w *world) lockedMemory(p *Process) verdict {
	const next = "ulimit -l unlimited; for good, memlock in /etc/security/limits.conf and LimitMEMLOCK=infinity for slurmd; in a container --ulimit memlock=-1"
	limit := p.Facts.Locked
	switch {
	case limit == nil:
		return notChecked("/proc/self/limits cannot be read")
	case *limit < 0:
		return ok("unlimited")
	case p.Facts.Locks:
		return ok("no limit for this process (CAP_IPC_LOCK)")
	case *limit >= enoughLocked:
		return ok(unit.Bytes(*limit))
	case *limit <= defaultLocked && w.rdma(p):
		return bad(unit.Bytes(*limit)+", the kernel's default", next)
	}
	return warn(fmt.Sprintf("%s; RDMA may need %s", unit.Bytes(*limit), unit.Bytes(enoughLocked)), next)
}

// rdma reports whether a process uses RDMA NICs to reach other hosts.
func (w *world) rdma(p *Process) bool {
	return w.several && !p.Facts.RDMA.Off && len(p.Facts.RDMA.Ports) > 0
}

// EnoughShared is a sufficient size of /dev/shm for the ranks of a node, in bytes. NCCL's
// guide gives containers --shm-size=1g ("Troubleshooting", "Docker"); their default is 64 MiB.
const EnoughShared = 1 << 30

func (w *world) sharedMemory(p *Process) verdict {
	const next = "in a container --ipc=host or --shm-size=16g; else remove what is left there (ls -l /dev/shm), or mount -o remount,size=16g /dev/shm"
	s := p.Facts.Shared
	switch {
	case p.Facts.NoShared:
		return bad("not there", "mount -t tmpfs tmpfs /dev/shm; in a container --ipc=host")
	case s == nil:
		return notChecked("the space there cannot be read")
	case s.Free < EnoughShared:
		return warn(fmt.Sprintf("%s free of %s; RCCL may need %s", unit.Bytes(s.Free), unit.Bytes(s.Size), unit.Bytes(EnoughShared)), next)
	}
	return ok(unit.Bytes(s.Size))
}

// openFiles compares the limit of open files with the number of connections of the largest
// communicator.
func (w *world) openFiles(p *Process) verdict {
	limit := p.Facts.OpenFiles
	if limit == nil {
		return notChecked("/proc/self/limits cannot be read")
	}
	need := int64(ownFiles)
	for _, c := range w.sweep.Communicators {
		need = max(need, ownFiles+int64(math.Ceil(float64(c.perNode(p.Facts.PXN)*p.Ranks)/float64(max(w.sweep.PerNode, 1)))))
	}
	if *limit >= 0 && *limit < need {
		return warn(fmt.Sprintf("%d; this sweep's connections take up to %d", *limit, need),
			fmt.Sprintf("ulimit -n %d; for good, nofile in /etc/security/limits.conf and LimitNOFILE for slurmd; in a container --ulimit nofile=%d", fileLimit, fileLimit))
	}
	if *limit < 0 {
		return ok("unlimited")
	}
	return ok(strconv.FormatInt(*limit, 10))
}

const (
	// ownFiles is an allowance for a process's open files other than connections: libraries,
	// devices, completion channels, its own files. A process of the loopback has only 40.
	ownFiles = 256
	// fileLimit is a limit of open files that is sufficient for an all-to-all over 1,024 ranks
	// without PXN. A user may set it, because systemd's default hard limit is higher (524288;
	// systemd-system.conf(5), DefaultLimitNOFILE).
	fileLimit = 65536
)

// balancing checks NUMA balancing. RCCL warns of NUMA balancing when it starts (RCCL 0cbce2a:
// src/init.cc, ncclInit). NUMA balancing doubled the times of medium sizes on 8 MI300X
// (ROCm/rccl#1562).
func (w *world) balancing(p *Process) verdict {
	switch p.Facts.Balancing {
	case "":
		return notChecked("the kernel does not tell")
	case "0":
		return ok("off")
	}
	return warn("on ("+p.Facts.Balancing+")", "sudo sysctl kernel.numa_balancing=0")
}

// maxSkew is the largest accepted difference of clocks, in seconds. Hosts with NTP or PTP differ
// by milliseconds (RFC 5905, section 1). munge only refuses credentials beyond 300 s.
const maxSkew = 1.0

// clock compares the host's wall clock with the leader's. The process must have received the
// leader's message after it was sent, and must have sent its facts before they arrived.
func (w *world) clock(p *Process) verdict {
	if p.Received.IsZero() || p.Facts.Clock == 0 {
		return notChecked("the process gave no time")
	}
	ahead := float64(p.Facts.Clock-p.Received.UnixNano()) / 1e9
	behind := 0.0
	if !p.Sent.IsZero() {
		behind = float64(p.Sent.UnixNano()-cmp.Or(p.Facts.Heard, p.Facts.Clock)) / 1e9
	}
	const next = "start chronyd or ntpd on the host (timedatectl; chronyc tracking)"
	switch {
	case ahead > maxSkew:
		return warn(fmt.Sprintf("%.0f s or more ahead of the leader's clock", ahead), next)
	case behind > maxSkew:
		return warn(fmt.Sprintf("%.0f s or more behind the leader's clock", behind), next)
	}
	return ok("agrees with the leader's")
}
