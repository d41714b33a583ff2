package record

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A text that is no name is refused where a name must be, and the error says where, whether the
// record is read from its file, from a journal, or made of a log.
func TestNamesThatAreTooLong(t *testing.T) {
	long := strings.Repeat("n", 20_000)
	for where, set := range map[string]func(*Record){
		"tool.version":               func(r *Record) { r.Tool.Version = long },
		"world.gpu":                  func(r *Record) { r.World.GPU = long },
		"world.hosts[1]":             func(r *Record) { r.World.Hosts = []string{"a", long} },
		"world.devices[0].name":      func(r *Record) { r.World.Devices[0].Name = long },
		"world.nics[1].driver":       func(r *Record) { r.World.NICs = []NICKind{{}, {Driver: long}} },
		"world.nics[0].model":        func(r *Record) { r.World.NICs = []NICKind{{Model: long}} },
		"source.driver":              func(r *Record) { r.Source.Driver = long },
		"source.libraries[0]":        func(r *Record) { r.Source.Libraries = []Library{{Name: long}} },
		"fabric.title":               func(r *Record) { r.Fabric.Title = long },
		"fabric.roofs[0].label":      func(r *Record) { r.Fabric.Roofs[0].Label = long },
		"results[0]: dtype":          func(r *Record) { r.Results[0].Dtype = long },
		"results[1]: setup":          func(r *Record) { r.Results[1].Setup = long },
		"results[0]: key":            func(r *Record) { r.Results[0].Key = long },
		"spec: sweep.collectives[0]": func(r *Record) { r.Spec.Sweep.Collectives[0] = long },
		"spec: faults[0]":            func(r *Record) { r.Spec.Faults[0] = long },
	} {
		rec := full()
		set(rec)
		h := begun()
		h.Record.Spec = rec.Spec
		_, err := Decode(strings.NewReader(encoded(t, rec)))
		if strings.HasPrefix(where, "spec: ") {
			require.NoError(t, err, "the request is checked where it is run: in a journal, and by --spec")
			_, err = ReadJournal(journalOf(t, h))
		}
		require.ErrorContains(t, err, where+" has 20000 bytes; a name has at most 4096")
	}
	row := kernels()
	row.Kernels[0].Kernel = long
	_, err := Decode(strings.NewReader(encoded(t, row)))
	require.ErrorContains(t, err, "kernels[0]: kernel has 20000 bytes")
}
