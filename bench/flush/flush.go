// Package flush tells whether RCCL runs with the GDR flush: after a NIC has written into GPU memory, the host makes the
// NIC read that memory before the GPU is told that the data are there. Whether it does depends on RCCL's network
// transport, its version and its variables; flush.yaml has a row per transport and range of versions, with a source for
// each cell. [Of] gives the row and the state of one process.
package flush

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"zbench/bench/plain"
)

// Variable turns the flush off, Ordering chooses what it reads: a scratchpad without relaxed ordering that it has written
// before (1), or the data (0).
const (
	Variable = "NCCL_GDR_FLUSH_DISABLE"
	Ordering = "RCCL_GDR_FLUSH_GPU_MEM_NO_RELAXED_ORDERING"
)

// Row is a transport in a range of versions of RCCL.
type Row struct {
	// Transport is its name in NCCL_NET, or ANP for the plugin; Title says what it is.
	Transport string `yaml:"transport"`
	Title     string `yaml:"title"`
	// From is the first version of the row, Before the first one behind it; empty is without bound.
	From   string `yaml:"from"`
	Before string `yaml:"before"`
	// Default is Variable if it is not set, Honoured whether it decides: yes or no.
	Default  Cell `yaml:"default"`
	Honoured Cell `yaml:"honoured"`
	// OrderingDefault is Ordering if it is not set, Fence whether the scratchpad is then written and read: present or lost.
	OrderingDefault Cell `yaml:"ordering"`
	Fence           Cell `yaml:"fence"`
	// Hang is yes if the flush is known to hang.
	Hang Cell `yaml:"hang"`
	// Advice says what turns the flush on with this row. It goes with [Cost] where it does.
	Advice string `yaml:"advice"`
}

// Cell is a value and its source; a value that is empty is not known.
type Cell struct {
	Is     string `yaml:"is"`
	Source string `yaml:"source"`
}

// String returns the value, or "not known".
func (c Cell) String() string {
	if c.Is == "" {
		return "not known"
	}
	return c.Is
}

//go:embed flush.yaml
var text []byte

type file struct {
	Rows     []Row                         `yaml:"rows"`
	Cost     string                        `yaml:"cost"`
	Releases []struct{ ROCm, RCCL string } `yaml:"releases"`
}

// table is the data file, read when it is first asked for.
var table = sync.OnceValue(func() file {
	var f file
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&f); err != nil {
		panic(fmt.Sprintf("flush: flush.yaml: %v", err)) // embedded: a test reads it
	}
	return f
})

// Rows returns the table.
func Rows() []Row { return slices.Clone(table().Rows) }

// Cost says what the flush costs, with the source of the figure.
func Cost() string { return table().Cost }

// Release returns the version of RCCL in a release of ROCm, such as 2.30.4 in 7.14.0; empty if it is not known.
func Release(rocm string) string {
	for _, r := range table().Releases {
		if rocm == r.ROCm || strings.HasPrefix(rocm, r.ROCm+".") {
			return r.RCCL
		}
	}
	return ""
}

// State is what is known of the flush of a process.
type State string

// The states. Unused is a process without RDMA.
const (
	On      State = "on"
	Off     State = "off"
	Unused  State = "unused"
	Unknown State = "not known"
)

// Setting is the flush of a process: its state, and the row that it follows from; nil if transport or version is not known.
type Setting struct {
	State
	Row *Row
}

// Of returns the setting of a process with this version of RCCL, empty if not known, and these variables. pollara tells
// that its NICs are known to be Pollara, for which RCCL has transports of its own.
func Of(rccl string, pollara bool, env func(string) string) Setting {
	net, disabled := transport(rccl, pollara, env), env(Variable)
	s := Setting{State: Unknown}
	if i := slices.IndexFunc(table().Rows, func(r Row) bool { return r.Transport == net && r.holds(rccl) }); i >= 0 {
		s.Row = &table().Rows[i]
	}
	switch {
	case net == sockets:
		s.State = Unused
	case disabled != "" && disabled != "0": // where the variable is not honoured, the flush is off as well
		s.State = Off
	case s.Row == nil:
	case disabled == "0" && s.Row.Honoured.Is == "yes", s.Row.Default.Is == "0":
		s.State = On
	default:
		s.State = Off
	}
	return s
}

// sockets stands for a process without RDMA.
const sockets = "socket"

// transport is RCCL's network transport; empty if it is not known.
func transport(rccl string, pollara bool, env func(string) string) string {
	net, plugin, own := strings.ToUpper(env("NCCL_NET")), env("NCCL_NET_PLUGIN"), env("RCCL_AINIC_ROCE")
	automatic := plain.Version(rccl, "2.30.4") >= 0 // ROCm/rocm-systems#9085: AINIC is recognised
	switch {
	case env("NCCL_IB_DISABLE") == "1" || net == "SOCKET":
		return sockets
	case strings.Contains(plugin, "anp"):
		return "ANP"
	case plugin != "" && plugin != "none":
		return "" // a plugin of unknown content
	case net != "":
		return net
	case rccl == "" || !pollara:
		return ""
	case own == "0" || own == "" && plain.Version(rccl, "2.28.3") < 0: // CHANGELOG: AINIC's path takes the variable
		return "IB"
	case automatic:
		return "IB-CAST"
	case own == "1":
		return "ROCM-IB"
	}
	return ""
}

func (r *Row) holds(rccl string) bool {
	return rccl != "" && plain.Version(rccl, r.From) >= 0 && (r.Before == "" || plain.Version(rccl, r.Before) < 0)
}
