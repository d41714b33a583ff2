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

// coresPerRank is the number of a rank's threads that poll at the same time: the one that launches
// and waits, and RCCL's proxy progress thread (RCCL 0cbce2a: src/proxy.cc, ncclProxyProgress).
const coresPerRank = 2

// cores divides the CPUs of a process by the ranks of its host with the same list. Partly
// overlapping lists count as separate.
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

// Bars of locked memory. AMD-AGI/Primus fails a node below 32 GiB (node_smoke, ulimit_l_min_gb). 8
// MiB is the kernel's default since Linux 5.16 (64 KiB before; setrlimit(2), MLOCK_LIMIT): it means
// that nobody changed it, and two of RCCL's 4 MiB buffers (NCCL_BUFFSIZE) already fill it.
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

// rdma reports whether a process uses RDMA NICs to reach others.
func (w *world) rdma(p *Process) bool {
	return w.several && !p.Facts.RDMA.Off && len(p.Facts.RDMA.Ports) > 0
}

// EnoughShared is sufficient /dev/shm for the ranks of a node: NCCL's guide gives containers
// --shm-size=1g ("Troubleshooting", "Docker"), whose default is 64 MiB.
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

// openFiles compares the limit with the largest communicator's connections.
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
	// ownFiles is the number of a process's open files apart from connections: libraries, devices,
	// completion channels, its own files; far more than a process of the loopback has (40).
	ownFiles = 256
	// fileLimit is a sufficient limit for an all-to-all over 1,024 ranks without PXN, which a user
	// may set under systemd's default hard limit (524288; systemd-system.conf(5),
	// DefaultLimitNOFILE).
	fileLimit = 65536
)

// balancing checks what RCCL warns of at its start (RCCL 0cbce2a: src/init.cc, ncclInit); it
// doubled the times of middle sizes on 8 MI300X (ROCm/rccl#1562).
func (w *world) balancing(p *Process) verdict {
	switch p.Facts.Balancing {
	case "":
		return notChecked("the kernel does not tell")
	case "0":
		return ok("off")
	}
	return warn("on ("+p.Facts.Balancing+")", "sudo sysctl kernel.numa_balancing=0")
}

// maxSkew is more than the clock difference, in seconds, of hosts with NTP or PTP (milliseconds;
// RFC 5905, section 1). munge only refuses credentials beyond 300 s.
const maxSkew = 1.0

// clock compares the host's wall clock with the leader's: the process received the leader's message
// after it was sent, and sent its facts before they arrived.
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
