package doctor

import (
	"fmt"
	"strings"

	"zbench/bench/unit"
	"zbench/internal/linux"
)

// lockedMemory is what RDMA pins: without enough of it a NIC cannot register
// buffers.
func (m Machine) lockedMemory() []Finding {
	limit, found := linux.Limit(m.read("proc/self/limits"), linux.LockedMemory)
	if !found {
		return nil
	}
	if limit < 0 {
		return []Finding{{Mark: Good, Name: "locked memory", Value: "unlimited"}}
	}
	return []Finding{{
		Mark: Warn, Name: "locked memory", Value: unit.Bytes(limit) + " (ulimit -l): RDMA may fail to register buffers",
		Remedy: "ulimit -l unlimited; for good, memlock in /etc/security/limits.conf, LimitMEMLOCK=infinity for slurmd",
	}}
}

// enoughShared is what eight ranks of a node need of /dev/shm for RCCL's own
// buffers, with room to spare; containers have 64 MiB unless told otherwise.
const enoughShared = 1 << 30

func (m Machine) sharedMemory() []Finding {
	size, found := linux.SharedSize(m.read("proc/mounts"))
	if !found {
		if !m.exists("dev/shm") {
			return []Finding{{
				Mark: Bad, Name: "/dev/shm", Value: "not there", Lost: "collectives between the processes of a node",
				Remedy: "mount -t tmpfs tmpfs /dev/shm; in a container --ipc=host",
			}}
		}
		return nil
	}
	f := Finding{Mark: Good, Name: "/dev/shm", Value: unit.Bytes(size)}
	if size < enoughShared {
		f.Mark, f.Value = Warn, f.Value+": the shared memory of a node's ranks may not fit"
		f.Remedy = "in a container --ipc=host or --shm-size=16g; else mount -o remount,size=16g /dev/shm"
	}
	return []Finding{f}
}

// nics lists the RDMA devices and their ports.
func (m Machine) nics() []Finding {
	var active, down []string
	for _, port := range (linux.Tree{FS: m.FS}).RDMAPorts() {
		if port.State == "ACTIVE" {
			active = append(active, strings.TrimSpace(port.Device+" "+port.Rate))
		} else {
			down = append(down, fmt.Sprintf("%s (%s)", port.Device, port.State))
		}
	}
	if len(active)+len(down) == 0 {
		return []Finding{{Mark: Fact, Name: "RDMA NICs", Value: "none: between nodes RCCL and NCCL use sockets"}}
	}
	f := Finding{Mark: Good, Name: "RDMA NICs", Value: fmt.Sprintf("%d active: %s", len(active), strings.Join(active, ", "))}
	if len(down) > 0 {
		f.Mark, f.Value = Warn, f.Value+"; not active: "+strings.Join(down, ", ")
		f.Remedy = "bring the ports up, or leave them out with NCCL_IB_HCA"
	}
	return []Finding{f}
}
