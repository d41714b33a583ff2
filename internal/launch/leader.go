package launch

import (
	"fmt"
	"hash/fnv"
	"net"
	"strconv"
	"strings"

	"zbench/bench/base/slice"
)

// LeaderVariable is the variable with the leader's address, as host:port or host, for any launcher.
const LeaderVariable = "ZBENCH_LEADER"

// Leader is the address of the world's first process.
type Leader struct {
	// Host is a name or an address; empty if the launcher does not give it.
	Host string
	Port int
}

// String returns the address as host:port.
func (l Leader) String() string { return net.JoinHostPort(l.Host, strconv.Itoa(l.Port)) }

// Derived ports are at least firstPort and less than lastPort. They are above Slurm's ports (6817
// to 6820) and the reserved ports, and below the ephemeral ports (from 32768 by default,
// net.ipv4.ip_local_port_range).
const (
	firstPort = 20480
	lastPort  = 28672
	// rasPort is the port of RCCL's RAS threads (NCCL_RAS_ADDR).
	rasPort = 28028
)

// Port derives a port from the name of a world, so that all processes of the world derive the same
// port. It leaves out the ports in `reserved`, which Slurm keeps for the step
// (SLURM_STEP_RESV_PORTS, such as "12000-12003") and which may be empty. The function `taken`
// reports whether another program listens at a port; nil checks nothing. Only a process that tells
// the port to all others may pass a `taken` function, because other hosts would answer differently.
func Port(key, reserved string, taken func(port int) bool) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // cannot fail
	low, high := portRange(reserved)
	at := int(h.Sum32() % (lastPort - firstPort))
	for range lastPort - firstPort {
		port := firstPort + at
		if port != rasPort && (port < low || port > high) && (taken == nil || !taken(port)) {
			return port
		}
		at = (at + 1) % (lastPort - firstPort)
	}
	return firstPort + at // all ports are reserved or in use
}

// portRange reads "low-high" or a single port. An empty text gives an empty range.
func portRange(text string) (low, high int) {
	a, b, ok := strings.Cut(text, "-")
	if !ok {
		b = a
	}
	low, first := strconv.Atoi(a)
	high, second := strconv.Atoi(b)
	if first != nil || second != nil {
		return 1, 0
	}
	return low, high
}

// leader returns the leader's address. LeaderVariable gives it if it is set. Otherwise the host is
// this host if all processes are on one node, or comes from the launcher.
func (w *world) leader(env Getenv) (Leader, error) {
	parts := slice.Map(w.key, env)
	l := Leader{Port: Port(w.name+"/"+strings.Join(parts, "/"), env("SLURM_STEP_RESV_PORTS"), nil)}
	if given := env(LeaderVariable); given != "" {
		return readLeader(given, l.Port)
	}
	if w.LocalSize == w.Size {
		l.Host = "127.0.0.1"
		return l, nil
	}
	if w.host == nil {
		return l, nil
	}
	var err error
	if l.Host, err = w.host(env); err != nil {
		return l, fmt.Errorf("the first node is not known: %w", err)
	}
	return l, nil
}

// readLeader reads host:port or host; `port` is the default port.
func readLeader(text string, port int) (Leader, error) {
	host, number, err := net.SplitHostPort(text)
	if err != nil {
		if strings.ContainsAny(text, " /[]") || strings.Count(text, ":") == 1 {
			return Leader{}, fmt.Errorf("%s=%s is not host:port", LeaderVariable, text)
		}
		return Leader{Host: text, Port: port}, nil
	}
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil || n == 0 || host == "" {
		return Leader{}, fmt.Errorf("%s=%s is not host:port", LeaderVariable, text)
	}
	return Leader{Host: host, Port: int(n)}, nil
}

// firstOfJob returns the first node of a Slurm job, where MPI places rank 0 by default. Outside of
// Slurm, MPI does not tell on which host rank 0 runs.
func firstOfJob(env Getenv) (string, error) { return firstHost(env("SLURM_JOB_NODELIST")) }
