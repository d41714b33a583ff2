package gemm

import (
	"errors"

	"zbench/bench/engine"
	"zbench/bench/exit"
	method "zbench/bench/gemm"
	"zbench/bench/kernel"
	"zbench/bench/spec"
	"zbench/hbm"
	"zbench/internal/native"
)

// The products are a family with a driver of its own.
var _ = hbm.Register(hbm.Family{Family: kernel.Of(method.Family.Name), Fill: fill, Open: begin})

func fill(k *spec.Kernels) (note string) {
	if k.Preset != "" || len(k.Shapes) > 0 || k.Reachable {
		return ""
	}
	k.Shapes = []string{smallShape}
	return "None of --preset, --mnk and --peak: one product, --mnk " + smallShape + ". For a model's: --preset zaya1-base\n"
}

// smallShape is what runs where nothing is asked for.
const smallShape = "8192x4096x2048/TN"

// loopbackGPUs are those of a node, which --peak measures at once.
const loopbackGPUs = 8

// begin opens the devices and plans the products.
func begin(o hbm.Opening) (*engine.Kernels, error) {
	k := o.Spec.Kernels
	loopback := o.Native.Backend == "loopback"
	switch {
	case len(o.Spec.Faults) > 0 && !loopback:
		return nil, exit.Usagef("give --backend loopback", "--fault needs the loopback: it plants a simulated fault")
	case loopback:
		n := k.Device + 1
		if k.Reachable {
			n = loopbackGPUs
		}
		o.Native.Machine = Machine(n, o.Spec.Faults)
	}
	d, err := Open(Config{Native: o.Native, Device: k.Device, All: k.Reachable, Seed: o.Spec.Seed, Sense: o.Sense, Say: o.Say})
	if errors.Is(err, native.ErrDevice) {
		err = exit.UsageError(err, o.Help)
	}
	if err != nil {
		return nil, err
	}
	out := &engine.Kernels{Driver: d, Facts: hbm.FactsOf(d.Devices(), d.Libraries()), Vendor: d.VendorText()}
	shapes, err := method.Request(k, d.units[0].info.Units)
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
	return out, nil
}
