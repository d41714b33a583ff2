// Package flush tells whether RCCL runs with the GDR flush: after a NIC has written into GPU
// memory, the host makes the NIC read that memory before the GPU is told that the data are there.
// The flush depends on RCCL's network transport, version and variables. flush.yaml has one row per
// transport and range of versions; [Of] returns the state and the row of a process.
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

// The variables of the flush: one turns it off, the other selects the memory that it reads (0 is
// the data, 1 a scratchpad that it writes before).
const (
	Variable = "NCCL_GDR_FLUSH_DISABLE"
	Ordering = "RCCL_GDR_FLUSH_GPU_MEM_NO_RELAXED_ORDERING"
)

// Row is a transport of RCCL in a range of versions: from From on, before Before; empty is without
// bound. Transport is its name in NCCL_NET, or ANP for the plugin. flush.yaml explains the cells
// and the use of Advice.
type Row struct {
	Transport, Title, From, Before           string
	Default, Honoured, Ordering, Fence, Hang Cell
	Advice                                   string
}

// Cell is a value and its source; both are empty if unknown.
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
		panic(fmt.Sprintf("flush: flush.yaml: %v", err)) // embedded: a test reads it
	}
	return f
})

// Cost returns the cost of the flush with the source of the figure.
func Cost() string { return table().Cost }

// Release returns the version of RCCL in a release of ROCm, such as 2.30.4 in 7.14.0; empty if
// unknown.
func Release(rocm string) string {
	for _, r := range table().Releases {
		if strings.HasPrefix(rocm+".", r.ROCm+".") {
			return r.RCCL
		}
	}
	return ""
}

// State is the state of the flush of a process. Unused means a process without RDMA.
type State string

// The states.
const (
	On      State = "on"
	Off     State = "off"
	Unused  State = "unused"
	Unknown State = "not known"
)

// Of returns the state of a process with this version of RCCL (empty if unknown) and these
// variables, and its row in the table; nil if its transport or version is unknown. pollara means
// that its NICs are known to be Pollara, for which RCCL has its own transports.
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
	return Off, &rows[i] // if the variable is not honoured, the flush is off
}

// sockets stands for a process without RDMA.
const sockets = "SOCKET"

// transport returns RCCL's network transport; empty if unknown.
func transport(rccl string, pollara bool, env func(string) string) string {
	net, plugin, own := strings.ToUpper(env("NCCL_NET")), env("NCCL_NET_PLUGIN"), env("RCCL_AINIC_ROCE")
	before := func(version string) bool { return plain.Version(rccl, version) < 0 }
	switch {
	case env("NCCL_IB_DISABLE") == "1":
		return sockets
	case strings.Contains(plugin, "anp"):
		return "ANP"
	case plugin != "" && plugin != "none": // with unknown content
		return ""
	case net != "" || rccl == "" || !pollara:
		return net
	case own == "0" || own == "" && before("2.28.3"): // AINIC's path takes the variable (ROCm/rccl#2078)
		return "IB"
	case !before("2.30.4"): // AINIC is recognised (ROCm/rocm-systems#9085)
		return "IB-CAST"
	case own == "1":
		return "ROCM-IB"
	}
	return ""
}
