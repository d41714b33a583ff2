package preflight

import (
	"fmt"
	"strings"
)

// The type names is a list as in NCCL_SOCKET_IFNAME and NCCL_IB_HCA: "eth,ib", "=eth0",
// "^docker,lo" or "^=mlx5_3:1". The entries are prefixes; a leading "=" makes them whole names, and
// a leading "^" excludes the names that match. An entry can have a port (RCCL 0cbce2a:
// src/misc/utils.cc, parseStringList and matchIfList; NCCL's guide, "Environment Variables").
type names struct {
	exclude, exact bool
	list           []namedPort
}

// namedPort is one entry. The port is −1 if the entry has none.
type namedPort struct {
	name string
	port int
}

// The most entries that RCCL reads; it ignores more (MAX_IFS in src/include/socket.h,
// MAX_IB_DEVS in src/transport/net_ib.cc).
const (
	maxInterfaces = 16
	maxHCAs       = 32
)

func parseNames(text string, most int) names {
	var l names
	text, l.exclude = strings.CutPrefix(text, "^")
	text, l.exact = strings.CutPrefix(text, "=")
	for entry := range strings.SplitSeq(text, ",") {
		name, port, has := strings.Cut(entry, ":")
		if name == "" {
			continue
		}
		n := namedPort{name: name, port: -1}
		if has {
			n.port = 0
			_, _ = fmt.Sscanf(port, "%d", &n.port) // as atoi in C: 0 if the text does not begin with a number
		}
		if len(l.list) < most {
			l.list = append(l.list, n)
		}
	}
	return l
}

// match reports whether the list selects a name. `port` is −1 for a device without ports. An empty
// list selects all names; "^" alone selects none.
func (l names) match(name string, port int) bool {
	found := len(l.list) == 0
	for _, e := range l.list {
		same := name == e.name
		if !l.exact {
			same = strings.HasPrefix(name, e.name)
		}
		found = found || same && (port == -1 || e.port == -1 || port == e.port)
	}
	return found != l.exclude
}
