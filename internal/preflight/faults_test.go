package preflight

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
)

// set is a fault that writes a file on host 1, which has ranks 8 to 15.
func set(name, text string) func(int, *planted) {
	return on1(func(p *planted) { p.files[name] = text })
}

// on1 is a fault of host 1.
func on1(change func(p *planted)) func(int, *planted) {
	return func(host int, p *planted) {
		if host == 1 {
			change(p)
		}
	}
}

func env(name, value string) func(int, *planted) {
	return on1(func(p *planted) { p.env[name] = value })
}

func remove(prefix string) func(int, *planted) {
	return on1(func(p *planted) {
		for name := range p.files {
			if strings.HasPrefix(name, prefix) {
				delete(p.files, name)
			}
		}
	})
}

const limits = "Max locked memory  %LOCKED  unlimited  bytes\nMax open files  %FILES  1048576  files\n"

func limited(locked, files string) string {
	return strings.NewReplacer("%LOCKED", locked, "%FILES", files).Replace(limits)
}

const port3 = "sys/class/infiniband/ionic_3/ports/1/"

// faults are planted on host 1 of two hosts. Only the named check may find anything, and
// only there.
var faults = map[string]struct {
	check  string
	state  record.PreflightState
	change func(int, *planted)
	judged func(int, *Process)
	found  string
	next   string
}{
	"few cores":          {"CPU cores", record.CheckWarning, set("proc/self/status", "Cpus_allowed_list:\t0-7\n"), nil, "8 CPUs for 8 ranks; a rank needs 2", "--cpus-per-task=2"},
	"few cores by quota": {"CPU cores", record.CheckWarning, set("sys/fs/cgroup/cpu.max", "400000 100000\n"), nil, "a quota of 4 CPUs for 8 ranks", "--cpus"},
	"no list of cores":   {"CPU cores", record.CheckNotChecked, set("proc/self/status", "Cpus_allowed_list:\tx\n"), nil, "not known", ""},
	"memlock of the kernel": {
		"locked memory", record.CheckError, set("proc/self/limits", limited("8388608", "1048576")), nil, "8 MiB, the kernel's default", "ulimit -l unlimited",
	},
	"memlock of 1 GiB": {"locked memory", record.CheckWarning, set("proc/self/limits", limited("1073741824", "1048576")), nil, "1 GiB; RDMA may need 32 GiB", "memlock=-1"},
	"files":            {"open files", record.CheckWarning, set("proc/self/limits", limited("unlimited", "256")), nil, "256; this sweep's connections take up to", "ulimit -n 65536"},
	"shm of a container": {
		"/dev/shm", record.CheckWarning, on1(func(p *planted) {
			p.Space = func(string) (Space, error) { return Space{Size: 64 << 20, Free: 64 << 20}, nil }
		}), nil,
		"64 MiB free of 64 MiB", "--ipc=host",
	},
	"no shm": {
		"/dev/shm", record.CheckError, func(host int, p *planted) {
			if host == 1 {
				delete(p.files, "dev/shm/x")
				p.Space = func(string) (Space, error) { return Space{}, fs.ErrNotExist }
			}
		}, nil, "not there", "mount -t tmpfs",
	},
	"ports":         {"ports", record.CheckWarning, set("proc/sys/net/ipv4/ip_local_port_range", "60000 60100\n"), nil, "101 ports (60000 to 60100); one set of communicators takes up to 560", `ip_local_port_range="28672 65535"`},
	"ports unknown": {"ports", record.CheckNotChecked, remove("proc/sys/net"), nil, "cannot be read", ""},
	"partitioned": {
		"GPU partitions", record.CheckWarning, set("sys/class/drm/card2/device/current_compute_partition", "CPX\n"), nil, "1 x CPX/NPS1, 7 x SPX/NPS1; most hosts have 8 x SPX/NPS1", "--compute-partition",
	},
	"balancing": {"NUMA balancing", record.CheckWarning, set("proc/sys/kernel/numa_balancing", "1\n"), nil, "on (1)", "sudo sysctl kernel.numa_balancing=0"},
	"another RCCL": {
		"libraries", record.CheckError, on1(func(p *planted) {
			p.Libraries = []record.Library{{Name: "librccl.so", Version: "2.21.5"}, p.Libraries[1]}
		}), nil, "librccl.so 2.21.5, libamdhip64.so 6.4.43484; most ranks have librccl.so 2.22.3", "same version",
	},
	"another driver": {"libraries", record.CheckWarning, on1(func(p *planted) { p.Driver = "amdgpu 6.8.5" }), nil, "kernel driver amdgpu 6.8.5; most hosts have amdgpu 6.12.12", "same driver"},
	"clock ahead":    {"clock", record.CheckWarning, on1(func(p *planted) { p.Now = func() time.Time { return epoch.Add(time.Minute) } }), nil, "60 s or more ahead of the leader's", "chronyd"},
	"clock behind":   {"clock", record.CheckWarning, on1(func(p *planted) { p.Now = func() time.Time { return epoch.Add(-time.Hour) } }), nil, "3600 s or more behind", "chronyd"},
	"interface that matches none": {
		"bootstrap interface", record.CheckError, env("NCCL_SOCKET_IFNAME", "bond"), nil, "NCCL_SOCKET_IFNAME=bond matches none of lo, eth0, docker0, eth1", "export NCCL_SOCKET_IFNAME==eth0",
	},
	"interface of another network": {"bootstrap interface", record.CheckWarning, env("NCCL_SOCKET_IFNAME", "eth1"), nil, "RCCL takes eth1 (NCCL_SOCKET_IFNAME=eth1); the way to the leader is eth0 (10.0.0.2)", "==eth0"},
	"interface lo":                 {"bootstrap interface", record.CheckError, env("NCCL_SOCKET_IFNAME", "=lo"), nil, "RCCL takes lo", "==eth0"},
	"a bridge first": {"bootstrap interface", record.CheckWarning, on1(func(p *planted) {
		all, _ := p.Interfaces()
		p.Interfaces = func() ([]Interface, error) {
			return append([]Interface{{"br-1", []netip.Addr{netip.MustParseAddr("172.18.0.1")}}}, all...), nil
		}
	}), nil, "RCCL takes br-1 (NCCL_SOCKET_IFNAME is not set)", "==eth0"},
	"interfaces unknown": {"bootstrap interface", record.CheckNotChecked, on1(func(p *planted) {
		p.Interfaces = func() ([]Interface, error) { return nil, errors.New("denied") }
	}), nil, "denied", ""},
	"a NIC down": {"RDMA NICs", record.CheckWarning, set(port3+"state", "1: DOWN\n"), nil, "7 at 400 Gb/sec; RCCL leaves out ionic_3:1 DOWN", "NCCL_IB_HCA=^"},
	"a slow NIC": {"RDMA NICs", record.CheckWarning, set(port3+"rate", "100 Gb/sec (4X EDR)\n"), nil, "7 at 400 Gb/sec, 1 at 100 Gb/sec; most hosts have 8 at 400 Gb/sec", "ethtool"},
	"HCAs of another maker": {
		"RDMA NICs", record.CheckError, env("NCCL_IB_HCA", "mlx5"), nil, "NCCL_IB_HCA=mlx5 matches none of 8 ports", "rdma link",
	},
	"no NIC":            {"RDMA NICs", record.CheckWarning, remove("sys/class/infiniband"), nil, "none: RCCL uses TCP sockets", "/dev/infiniband"},
	"no access to NICs": {"RDMA NICs", record.CheckError, remove("dev/infiniband"), nil, "8 ports, but no /dev/infiniband", "--device /dev/infiniband"},
	"RDMA off":          {"RDMA NICs", record.CheckWarning, env("NCCL_IB_DISABLE", "1"), nil, "NCCL_IB_DISABLE is set", "unset NCCL_IB_DISABLE"},
	"GID index without an address": {
		"RoCE v2 GID", record.CheckError, env("NCCL_IB_GID_INDEX", "4"), nil, "NCCL_IB_GID_INDEX 4: no address on ionic_0:1, ionic_1:1, ionic_2:1 and 5 more", "export NCCL_IB_GID_INDEX=3",
	},
	"GID index beyond the table": {"RoCE v2 GID", record.CheckError, env("NCCL_IB_GID_INDEX", "9"), nil, "NCCL_IB_GID_INDEX 9: no address", "INDEX=3"},
	"GID index of RoCE v1":       {"RoCE v2 GID", record.CheckWarning, env("NCCL_IB_GID_INDEX", "2"), nil, "NCCL_IB_GID_INDEX 2: RoCE v1", "INDEX=3"},
	"GID index of a link":        {"RoCE v2 GID", record.CheckWarning, env("NCCL_IB_GID_INDEX", "1"), nil, "a link-local address", "INDEX=3"},
	"one NIC without an address": {"RoCE v2 GID", record.CheckError, on1(func(p *planted) {
		const empty = "0000:0000:0000:0000:0000:0000:0000:0000\n"
		p.files[port3+"gids/2"], p.files[port3+"gids/3"], p.env["NCCL_IB_GID_INDEX"] = empty, empty, "3"
	}), nil, "NCCL_IB_GID_INDEX 3: no address on ionic_3:1", "ip address"},
	"no types of GIDs": {"RoCE v2 GID", record.CheckNotChecked, func(host int, p *planted) {
		for name := range p.files {
			if host == 1 && strings.Contains(name, "gid_attrs") {
				delete(p.files, name)
			}
		}
	}, nil, "does not tell the version", ""},
	"one GPU visible": {"GPUs of local peers", record.CheckWarning, on1(func(p *planted) {
		p.Visible, p.env["ROCR_VISIBLE_DEVICES"] = p.Visible[p.local:p.local+1], "0"
	}), nil, "the process sees 1 GPU of the node's, not the other 7 GPUs", "unset ROCR_VISIBLE_DEVICES"},
	"a GPU of all processes": {"GPUs of local peers", record.CheckWarning, on1(func(p *planted) {
		p.GPUs = []string{pci(0)}
	}), nil, "8 processes drive the GPU 0000:0c:00.0", "a GPU of its own"},
	"no list of GPUs":                      {"GPUs of local peers", record.CheckNotChecked, on1(func(p *planted) { p.Visible = nil }), nil, "did not list", ""},
	"clock behind by the leader's message": {"clock", record.CheckWarning, on1(func(p *planted) { p.Heard = epoch.Add(-time.Minute) }), nil, "60 s or more behind", "chronyd"},
	"folder not shared":                    {"result folder", record.CheckWarning, remove("scratch/"), nil, "the leader's file in /scratch/run is not seen here", "--out"},
	"a folder of the same name":            {"result folder", record.CheckWarning, set("scratch/run/.nonce", "process 9 on node-b\n"), nil, "is not seen here", "--out"},
	"folder not writable": {"result folder", record.CheckError, on1(func(p *planted) {
		p.denied = "read-only file system"
	}), nil, "cannot write to /scratch/run: read-only file system", "another --out"},
	"no time": {"clock", record.CheckNotChecked, nil, func(host int, p *Process) {
		if host == 1 {
			p.Received = time.Time{}
		}
	}, "gave no time", ""},
}

// Each fault is found by its check, on its ranks, and by no other. Without it nothing is.
func TestPlantedFaults(t *testing.T) {
	sound := cluster{hosts: 2}.report()
	for _, c := range sound.Checks {
		require.Equal(t, record.CheckOK, c.State, "%+v", c)
	}
	require.True(t, sound.Healthy())
	covered := map[string]bool{}
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			covered[f.check] = true
			r := cluster{hosts: 2, change: f.change, judged: f.judged}.report()
			for _, c := range r.Checks {
				if c.Name != f.check {
					require.Equal(t, record.CheckOK, c.State, "%+v", c)
					continue
				}
				require.Equal(t, f.state, c.State, "%+v", c)
				worst := c.Findings[0]
				require.Equal(t, f.state, worst.State)
				require.Equal(t, "8-15", worst.Ranks)
				require.Equal(t, []string{"node-b"}, worst.Hosts)
				require.Contains(t, worst.Found, f.found)
				require.Contains(t, worst.Next, f.next)
				wrong := f.state == record.CheckWarning || f.state == record.CheckError
				require.Equal(t, wrong, worst.Why != "")
				require.Equal(t, wrong, worst.Next != "")
			}
			require.Equal(t, f.state == record.CheckError, r.Refused() != nil)
		})
	}
	for _, c := range checks {
		require.True(t, covered[c.name], "no fault is planted for %s", c.name)
	}
}

// Processes of one host may meet over lo, whatever the library takes them for.
func TestOneHostMeetsOverLo(t *testing.T) {
	r := cluster{hosts: 1, change: func(_ int, p *planted) {
		p.env["NCCL_SOCKET_IFNAME"], p.env["NCCL_HOSTID"] = "lo", fmt.Sprint("node", p.local)
	}}.report()
	require.True(t, r.Healthy(), "%+v", r.Checks)
}
