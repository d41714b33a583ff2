// Package flush reports whether RCCL runs with the GDR flush. After a NIC has written into GPU
// memory, the flush makes the NIC read that memory, and only then does the GPU learn that the data
// have arrived. Whether RCCL flushes depends on its network transport, version and variables.
// flush.yaml has one row per transport and range of versions; [Of] returns the state and the row of
// a process.
package flush

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"zbench/bench/base/plain"
)

// Variables of the flush. Variable turns it off. Ordering selects the memory that the flush reads.
// With 0 it reads the data. With 1 it reads a scratchpad that it has just written.
const (
	Variable = "NCCL_GDR_FLUSH_DISABLE"
	Ordering = "RCCL_GDR_FLUSH_GPU_MEM_NO_RELAXED_ORDERING"
)

// Row is a transport of RCCL in the versions from From up to, but not including, Before; an empty
// bound is open. Transport is its name in NCCL_NET, or ANP for the plugin. flush.yaml explains the
// cells and the use of Advice.
type Row struct {
	Transport, Title, From, Before           string
	Default, Honoured, Ordering, Fence, Hang Cell
	Advice                                   string
}

// Cell is a value with its source. Both are empty if unknown.
type Cell struct{ Is, Source string }

//go:embed flush.yaml
var text []byte

type file struct {
	Rows     []Row
	Cost     string
	Releases []struct{ ROCm, RCCL string }
}

// table is the data file, read on first use.
var table = sync.OnceValue(func() (f file) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&f); err != nil {
		panic(fmt.Sprintf("flush: flush.yaml: %v", err)) // a test reads the embedded file
	}
	return f
})

// Cost returns a text about the cost of the flush, with its source.
func Cost() string { return table().Cost }

// Release returns the RCCL version in a release of ROCm, such as 2.30.4 for 7.14.0, or empty text
// if it is unknown.
func Release(rocm string) string {
	for _, r := range table().Releases {
		if strings.HasPrefix(rocm+".", r.ROCm+".") {
			return r.RCCL
		}
	}
	return ""
}

// State is the state of the flush in a process. Unused means that the process uses no RDMA.
type State string

// The states.
const (
	On      State = "on"
	Off     State = "off"
	Unused  State = "unused"
	Unknown State = "not known"
)

// Of returns the flush state of a process and its row in the table. rccl is the RCCL version, empty
// if unknown; env returns a variable of the process. The row is nil if the transport or the version
// is unknown. pollara means that the NICs are known to be Pollara, for which RCCL has its own
// transports.
func Of(rccl string, pollara bool, env func(string) string) (State, *Row) {
	net, disabled := transport(rccl, pollara, env), env(Variable)
	rows := table().Rows
	i := slices.IndexFunc(rows, func(r Row) bool {
		return rccl != "" && r.Transport == net && plain.Version(rccl, r.From) >= 0 && (r.Before == "" || plain.Version(rccl, r.Before) < 0)
	})
	switch {
	case net == sockets:
		return Unused, nil
	case i < 0 && (disabled == "" || disabled == "0"):
		return Unknown, nil
	case i < 0:
		return Off, nil
	case disabled == "" && rows[i].Default.Is == "0", disabled == "0" && rows[i].Honoured.Is == "yes":
		return On, &rows[i]
	}
	return Off, &rows[i] // a transport that ignores the variable never flushes
}

// sockets is the transport of a process without RDMA.
const sockets = "SOCKET"

// transport returns RCCL's network transport, or empty text if it is unknown.
func transport(rccl string, pollara bool, env func(string) string) string {
	net, plugin, own := strings.ToUpper(env("NCCL_NET")), env("NCCL_NET_PLUGIN"), env("RCCL_AINIC_ROCE")
	before := func(version string) bool { return plain.Version(rccl, version) < 0 }
	switch {
	case env("NCCL_IB_DISABLE") == "1":
		return sockets
	case strings.Contains(plugin, "anp"):
		return "ANP"
	case plugin != "" && plugin != "none": // a plugin of unknown content
		return ""
	case net != "" || rccl == "" || !pollara:
		return net
	case own == "0" || own == "" && before("2.28.3"): // AINIC's own path reads the variable (ROCm/rccl#2078)
		return "IB"
	case !before("2.30.4"): // RCCL recognises AINIC by itself (ROCm/rocm-systems#9085)
		return "IB-CAST"
	case own == "1":
		return "ROCM-IB"
	}
	return ""
}
