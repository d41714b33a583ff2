package preflight

import (
	"fmt"
	"net/netip"
	"strings"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
)

// bootstrapInterface compares the interface that RCCL uses with the interface that reached the
// leader.
func (w *world) bootstrapInterface(p *Process) verdict {
	b := p.Facts.Bootstrap
	setting := "NCCL_SOCKET_IFNAME=" + b.Setting
	if len(b.Setting) <= 1 {
		setting = "NCCL_SOCKET_IFNAME is not set"
	}
	direct := b.Leader
	if addr, err := netip.ParseAddr(b.Address); err != nil || addr.IsLoopback() {
		direct = "" // the process is on the leader's own host
	}
	switch {
	case b.Unknown != "":
		return notChecked(b.Unknown)
	case b.Chosen == "":
		return bad(fmt.Sprintf("%s matches none of %s", setting, orNone(b.Names)), "export NCCL_SOCKET_IFNAME="+orName(direct))
	case !w.several:
		return ok(b.Chosen)
	case b.Chosen == "lo" && !w.alone:
		return bad(fmt.Sprintf("RCCL takes lo, which reaches no other host (%s)", setting), "export NCCL_SOCKET_IFNAME="+orName(direct))
	case direct != "" && direct != b.Chosen:
		return warn(fmt.Sprintf("RCCL takes %s (%s); the way to the leader is %s (%s)", b.Chosen, setting, direct, b.Address),
			fmt.Sprintf("export NCCL_SOCKET_IFNAME==%s, unless %s reaches all hosts too", direct, b.Chosen))
	}
	return ok(b.Chosen)
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "no interface with an address"
	}
	return strings.Join(list, ", ")
}

// orName returns the value of NCCL_SOCKET_IFNAME that selects exactly this interface, or words
// if the interface is not known.
func orName(name string) string {
	if name == "" {
		return "the interface that reaches the other hosts"
	}
	return "=" + name
}

// nics() checks the ports that RCCL uses on each host, and compares the hosts.
func (w *world) nics() []verdict {
	usual := w.usual(func(p *Process) string { return p.Facts.RDMA.summary() })
	down := w.usual(func(p *Process) string { return "without " + p.Facts.RDMA.inactive() })
	return w.each(func(p *Process) verdict { return w.nicsOf(p, usual, down == "without "+p.Facts.RDMA.inactive()) })
}

// summary returns the number of active ports by speed, such as "8 at 400 Gb/sec".
func (r RDMA) summary() string {
	rates, of := slice.Group(slice.Where(r.Ports, Port.active), func(port Port) string { return port.Rate })
	return strings.Join(slice.Map(rates, func(rate string) string { return fmt.Sprintf("%d at %s", len(of[rate]), rate) }), ", ")
}

// inactive() returns the ports that RCCL does not use, with their states.
func (r RDMA) inactive() string {
	off := slice.Where(r.Ports, func(port Port) bool { return !port.active() })
	return strings.Join(slice.Map(off, func(port Port) string { return port.Name + " " + port.State }), ", ")
}

// nicsOf judges one host. `usual` is the summary that most hosts have. `alike` is true if the same
// ports are down on most hosts: without NCCL_IB_HCA such NICs are not meant for RCCL.
func (w *world) nicsOf(p *Process, usual string, alike bool) verdict {
	r := p.Facts.RDMA
	unused := alike && !w.alone && (r.HCA == "" || r.HCA[0] == '^')
	const look = "look at the NIC's link: rdma link, ethtool; "
	switch have := r.summary(); {
	case !w.several:
		return ok("not used: all ranks are on one host")
	case r.Off:
		return warn("NCCL_IB_DISABLE is set: RCCL uses TCP sockets", "unset NCCL_IB_DISABLE")
	case r.All == 0 && w.alone:
		return ok("none: between nodes RCCL and NCCL use sockets")
	case r.All == 0:
		return warn("none: RCCL uses TCP sockets", "load the NICs' RDMA driver (rdma link shows them); in a container pass /sys and --device /dev/infiniband")
	case r.NoAccess:
		return bad(plain.Count(r.All, "port")+", but no /dev/infiniband/uverbs*: RCCL cannot open the NICs", "in a container --device /dev/infiniband; else sudo modprobe ib_uverbs")
	case len(r.Ports) == 0:
		return bad(fmt.Sprintf("NCCL_IB_HCA=%s matches none of %s", r.HCA, plain.Count(r.All, "port")), "correct NCCL_IB_HCA (names: rdma link), or set NCCL_IB_DISABLE=1 if sockets are meant")
	case have == "":
		return bad("no port is active: "+r.inactive(), look+"or set NCCL_IB_DISABLE=1 if sockets are meant")
	case r.inactive() != "" && !unused:
		return warn(fmt.Sprintf("%s; RCCL leaves out %s", have, r.inactive()), look+"leave the port out on all hosts with NCCL_IB_HCA=^NAME, or leave the host out")
	case have != usual:
		return warn(fmt.Sprintf("%s; most hosts have %s", have, usual), look+"the slowest NIC of a rail sets the rail's rate")
	default:
		return ok(have)
	}
}

// gids() checks the GID table entry from which each NIC sends.
func (w *world) gids(p *Process) verdict {
	r := p.Facts.RDMA
	by := "RCCL's own choice, index"
	if r.GID != nil {
		by = "NCCL_IB_GID_INDEX"
	}
	if !w.rdma(p) || r.NoAccess {
		return ok("not used")
	}
	var worst verdict
	roce, worstNames := 0, []string(nil)
	for _, port := range r.Ports {
		if !port.active() || port.InfiniBand {
			continue
		}
		roce++
		v := gidVerdict(port, by)
		switch {
		case worst.found == "" || v.worse(worst):
			worst, worstNames = v, []string{port.Name}
		case v == worst:
			worstNames = append(worstNames, port.Name)
		}
	}
	switch {
	case roce == 0:
		return ok("not used: InfiniBand")
	case worst.next == "":
		return worst
	}
	worst.found += " on " + unit.FirstFew(worstNames, shownHosts)
	return worst
}

func gidVerdict(port Port, by string) verdict {
	next := "give the NIC an IP address of its own (ip address), then look at its table: rdma link, show_gids"
	if port.Better >= 0 {
		next = fmt.Sprintf("export NCCL_IB_GID_INDEX=%d", port.Better)
	}
	at := fmt.Sprintf("%s %d", by, port.Index)
	switch {
	case port.Entries == 0:
		return notChecked("the table of GIDs cannot be read")
	case !port.Set:
		return bad(at+": no address", next)
	case port.RoCE == 0:
		return notChecked(at + ": the kernel does not tell the version of RoCE")
	case port.RoCE == 1:
		return warn(at+": RoCE v1", next)
	case port.Local && port.Better >= 0:
		return warn(at+": a link-local address", next)
	case port.Local:
		return ok(at + ", link-local, RoCE v2")
	}
	return ok(at + ", RoCE v2")
}
