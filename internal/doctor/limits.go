package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"zbench/bench/unit"
)

// lockedMemory is what RDMA pins: without enough of it a NIC cannot register
// buffers.
func (m Machine) lockedMemory() []Finding {
	limit, found := lockedLimit(m.read("proc/self/limits"))
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

// lockedLimit finds the soft limit in bytes in /proc/self/limits, -1 for none.
func lockedLimit(limits string) (bytes int64, found bool) {
	for line := range strings.Lines(limits) {
		rest, ok := strings.CutPrefix(line, "Max locked memory")
		if !ok {
			continue
		}
		fields := strings.Fields(rest)
		if len(fields) == 0 {
			return 0, false
		}
		if fields[0] == "unlimited" {
			return -1, true
		}
		bytes, err := strconv.ParseInt(fields[0], 10, 64)
		return bytes, err == nil && bytes >= 0
	}
	return 0, false
}

// enoughShared is what eight ranks of a node need of /dev/shm for RCCL's own
// buffers, with room to spare; containers have 64 MiB unless told otherwise.
const enoughShared = 1 << 30

func (m Machine) sharedMemory() []Finding {
	size, found := sharedSize(m.read("proc/mounts"))
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

// sharedSize finds the size option of /dev/shm in /proc/mounts, in bytes. A
// mount without one has half of the memory, which is enough.
func sharedSize(mounts string) (bytes int64, found bool) {
	for line := range strings.Lines(mounts) {
		fields := strings.Fields(line)
		if len(fields) < 4 || fields[1] != "/dev/shm" {
			continue
		}
		found = false
		for option := range strings.SplitSeq(fields[3], ",") {
			value, ok := strings.CutPrefix(option, "size=")
			if !ok {
				continue
			}
			bytes, found = mountSize(value)
		}
	}
	return bytes, found
}

func mountSize(value string) (int64, bool) {
	scale := int64(1)
	if n := len(value); n > 0 {
		if i := strings.IndexByte("kmg", value[n-1]); i >= 0 {
			scale, value = 1<<(10*(i+1)), value[:n-1]
		}
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/scale {
		return 0, false
	}
	return n * scale, true
}

// nics lists the RDMA devices and their ports.
func (m Machine) nics() []Finding {
	var active, down []string
	for _, nic := range m.names("sys/class/infiniband", "*") {
		name := nic[strings.LastIndexByte(nic, '/')+1:]
		for _, port := range m.names(nic+"/ports", "*") {
			_, state, _ := strings.Cut(m.read(port+"/state"), ": ")
			rate, _, _ := strings.Cut(m.read(port+"/rate"), " (")
			text := strings.TrimSpace(name + " " + rate)
			if state == "ACTIVE" {
				active = append(active, text)
			} else {
				down = append(down, fmt.Sprintf("%s (%s)", name, state))
			}
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
