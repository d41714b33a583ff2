package preflight

import (
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"testing/fstest"
	"time"

	"zbench/bench/run/record"
)

// cluster is a planted set of hosts with eight GPUs and eight NICs each, and a process for
// each GPU. A fault is a change of one of its processes' hosts.
type cluster struct {
	hosts int
	// change is applied to the host of each process before its facts are gathered.
	change func(host int, p *planted)
	// judged is applied to each process as the leader has it.
	judged func(host int, p *Process)
	sweep  Sweep
}

// planted is a process's view of its host.
type planted struct {
	Host
	files map[string]string
	env   map[string]string
	local int
	// denied is why the leader cannot write to the result folder.
	denied string
}

const gpusPerNode = 8

// nic is the sysfs of a RoCE port: entry 0 link-local and RoCE v1, 1 the same in v2, 2 and 3
// its IPv4 address, as drivers fill them.
func nic(files map[string]string, name string, host int) {
	port := "sys/class/infiniband/" + name + "/ports/1/"
	files[port+"state"] = "4: ACTIVE\n"
	files[port+"rate"] = "400 Gb/sec (4X NDR)\n"
	files[port+"link_layer"] = "Ethernet\n"
	four := fmt.Sprintf("0000:0000:0000:0000:0000:ffff:0a01:%02x01\n", host)
	for i, gid := range []string{"fe80:0000:0000:0000:0690:81ff:fe2c:4f90\n", "fe80:0000:0000:0000:0690:81ff:fe2c:4f90\n", four, four} {
		files[fmt.Sprintf("%sgids/%d", port, i)] = gid
		files[fmt.Sprintf("%sgid_attrs/types/%d", port, i)] = []string{"IB/RoCE v1\n", "RoCE v2\n"}[i%2]
	}
	files[port+"gids/4"] = "0000:0000:0000:0000:0000:0000:0000:0000\n" // of no type: reading it fails
}

// pci is the address of a GPU of a node.
func pci(gpu int) string { return fmt.Sprintf("0000:%02x:00.0", 0x0c+0x10*gpu) }

// healthy is a process of a node as it should be.
func healthy(host, local int) *planted {
	p := &planted{local: local, env: map[string]string{}, files: map[string]string{
		"proc/self/status":                      "Name:\tzbench\nCapEff:\t0000000000000000\nCpus_allowed_list:\t0-95\n",
		"proc/self/limits":                      "Limit  Soft Limit  Hard Limit  Units\nMax locked memory  unlimited  unlimited  bytes\nMax open files  1048576  1048576  files\n",
		"proc/sys/net/ipv4/ip_local_port_range": "32768\t60999\n",
		"proc/sys/kernel/numa_balancing":        "0\n",
		"sys/fs/cgroup/cpu.max":                 "max 100000\n",
		"dev/infiniband/uverbs0":                "",
		"dev/shm/x":                             "",
		"scratch/run/.nonce":                    "process 7 on node-a\n",
	}}
	for i := range gpusPerNode {
		nic(p.files, fmt.Sprintf("ionic_%d", i), host)
		p.files[fmt.Sprintf("sys/class/drm/card%d/device/current_compute_partition", i)] = "SPX\n"
		p.files[fmt.Sprintf("sys/class/drm/card%d/device/current_memory_partition", i)] = "NPS1\n"
		p.Visible = append(p.Visible, pci(i))
	}
	own := netip.AddrFrom4([4]byte{10, 0, 0, byte(host + 1)})
	p.Host = Host{
		Now:   func() time.Time { return epoch },
		Space: func(string) (Space, error) { return Space{Size: 64 << 30, Free: 60 << 30}, nil },
		Interfaces: func() ([]Interface, error) {
			return []Interface{
				{"lo", []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback()}},
				{"eth0", []netip.Addr{own, netip.MustParseAddr("fe80::1")}},
				{"docker0", []netip.Addr{netip.MustParseAddr("172.17.0.1")}},
				{"eth1", []netip.Addr{netip.AddrFrom4([4]byte{192, 168, 0, byte(host + 1)})}},
			}, nil
		},
		Libraries: []record.Library{{Name: "librccl.so", Version: "2.22.3"}, {Name: "libamdhip64.so", Version: "6.4.43484"}}, Driver: "amdgpu 6.12.12",
		GPUs: []string{pci(local)}, Visible: p.Visible,
	}
	if host > 0 {
		p.Leader = own
	} else if local > 0 {
		p.Leader = netip.MustParseAddr("127.0.0.1")
	}
	return p
}

// epoch is the planted time.
var epoch = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// tree makes a file system; an empty GID's type cannot be read.
func tree(files map[string]string) fs.FS {
	out := fstest.MapFS{}
	for name, text := range files {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

// world gathers the facts of all processes of the cluster.
func (c cluster) world() []Process {
	var all []Process
	for host := range c.hosts {
		for local := range gpusPerNode {
			p := healthy(host, local)
			if c.change != nil {
				p.files = maps.Clone(p.files)
				c.change(host, p)
			}
			p.FS, p.Getenv = tree(p.files), func(name string) string { return p.env[name] }
			p.Folder = Look(func(name string) ([]byte, error) { return fs.ReadFile(p.FS, name[1:]) }, "/scratch/run", ".nonce", "process 7 on node-a\n")
			if p.denied != "" {
				p.Folder.Why = p.denied
			}
			process := Process{
				Facts: Collect(p.Host), Host: fmt.Sprintf("node-%c", 'a'+host), FirstRank: host*gpusPerNode + local, Ranks: 1,
				Sent: epoch.Add(-30 * time.Millisecond), Received: epoch.Add(20 * time.Millisecond),
			}
			if c.judged != nil {
				c.judged(host, &process)
			}
			all = append(all, process)
		}
	}
	return all
}

func (c cluster) report() Report {
	if c.sweep.PerNode == 0 {
		c.sweep = Sweep{PerNode: gpusPerNode, Communicators: []Communicators{{Ranks: c.hosts * gpusPerNode, Nodes: c.hosts}}}
	}
	return Judge(c.world(), c.sweep)
}
