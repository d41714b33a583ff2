package gemm

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"zbench/bench/base/exit"
	"zbench/bench/base/slice"
	"zbench/bench/engine"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	method "zbench/bench/work/gemm"
	"zbench/bench/work/kernel"
	"zbench/hbm"
	"zbench/internal/native"
)

// The family gemm has its own driver.
var _ = hbm.Register(hbm.Family{Family: kernel.Of(method.Family.Name), Fill: fill, Open: begin})

func fill(k *spec.Kernels) (note string) {
	if k.Preset != "" || len(k.Shapes) > 0 || k.Reachable {
		return ""
	}
	k.Shapes = []string{smallShape}
	return "None of --preset, --mnk and --peak: one product, --mnk " + smallShape + ". For a model's: --preset zaya1-base\n"
}

// smallShape is the default shape.
const smallShape = "8192x4096x2048/TN"

// loopbackGPUs is the number of GPUs per node, which --peak measures at once.
const loopbackGPUs = 8

// begin opens the devices and plans the products.
func begin(o hbm.Opening) (*engine.Kernels, error) {
	k := o.Spec.Kernels
	loopback := o.Native.Backend == "loopback"
	switch {
	case len(o.Spec.Faults) > 0 && !loopback:
		return nil, exit.Usagef("give --backend loopback", "--fault needs the loopback: it plants a simulated fault")
	case loopback:
		var err error
		if o.Native.Machine, err = simulated(o); err != nil {
			return nil, exit.UsageError(err, "`zbench list faults`; "+o.Help)
		}
	}
	d, err := Open(Config{Native: o.Native, Device: k.Device, All: k.Reachable, Seed: o.Spec.Seed, Unchecked: k.Unchecked, Sense: o.Sense, Say: o.Say})
	if errors.Is(err, native.ErrDevice) {
		err = exit.UsageError(err, o.Help)
	}
	if err != nil {
		return nil, err
	}
	out := &engine.Kernels{Driver: d, Facts: engine.Facts{Devices: d.Devices(), Libraries: d.Libraries()}, Vendor: d.VendorText()}
	shapes, err := method.Request(k, d.units[0].info)
	if err == nil {
		most := k.Choices
		if most == 0 {
			most = method.MostChoices
		}
		out.Rows, out.Jobs, err = d.Plan(shapes, k.Dtypes, most, o.Rule)
	}
	if errors.Is(err, ErrMemory) {
		err = exit.UsageError(err, "give fewer --tokens, or a smaller --mnk")
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	if nodes := o.Spec.World.Nodes; nodes > 1 && o.Node < 0 {
		out.Facts.OnNodes(nodes)
	}
	return out, nil
}

// simulated returns the loopback's machine file. The machine has one GPU. With --peak it has
// all GPUs of all nodes, or of this process's node. Fault lines number the GPUs consecutively
// over all nodes.
func simulated(o hbm.Opening) ([]byte, error) {
	if !o.Spec.Kernels.Reachable {
		return Machine(o.Spec.Kernels.Device+1, o.Spec.Faults), nil
	}
	w := spec.World{Nodes: max(1, o.Spec.World.Nodes), GPUsPerNode: loopbackGPUs, GPUsPerProcess: loopbackGPUs}
	f, err := fabric.ByName(fabric.Default)
	if err != nil {
		return nil, err
	}
	slow := func(text string) bool { return strings.HasPrefix(text, "slow_compute:") }
	m, err := f.Resolve(w, fabric.Conditions{Faults: slice.Where(o.Spec.Faults, slow)})
	if err != nil {
		return nil, err
	}
	lines := append(slice.Where(o.Spec.Faults, func(text string) bool { return !slow(text) }), m.Faults...)
	if o.Node < 0 {
		return Machine(w.Size(), lines), nil
	}
	var own []string
	for _, line := range lines {
		what, how, _ := strings.Cut(line, " ")
		number, how, _ := strings.Cut(how, " ")
		if gpu, err := strconv.Atoi(number); err == nil && gpu/loopbackGPUs == o.Node {
			own = append(own, fmt.Sprintf("%s %d %s", what, gpu%loopbackGPUs, how))
		}
	}
	return append(Machine(loopbackGPUs, own), fmt.Sprintf("seed %d\n", o.Node+1)...), nil
}
