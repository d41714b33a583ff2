package muon

import (
	"errors"

	"zbench/bench/base/exit"
	"zbench/bench/engine"
	"zbench/bench/run/spec"
	method "zbench/bench/work/muon"
	"zbench/hbm"
	"zbench/internal/native"
)

// The family muon has its own driver.
var _ = hbm.Register(hbm.Family{
	Family: method.Family,
	Fill: func(k *spec.Kernels) (note string) {
		if k.Preset != "" || len(k.Shapes) > 0 {
			return ""
		}
		k.Shapes = []string{SmallShape}
		return "Neither --preset nor --shape: a small default, --shape " + SmallShape + ". For a model's matrices: --preset zaya1-base\n"
	},
	Open: begin,
})

// begin opens the device and plans the shapes. It refuses an emulation that would take minutes. The
// check asks the device whether kernels are emulated, because the loopback may have a vendor's
// name.
func begin(o hbm.Opening) (*engine.Kernels, error) {
	k := o.Spec.Kernels
	shapes, few, err := method.Shapes(k)
	if err != nil {
		return nil, exit.UsageError(err, o.Help)
	}
	c, err := method.ByName(k.Coefficients)
	if err != nil {
		return nil, exit.UsageError(err, o.Help)
	}
	if o.Native.Backend != "loopback" && k.Reduce != 0 {
		return nil, exit.Usagef("leave it out, or add --backend loopback", "--reduce needs emulated kernels: a GPU runs the full shapes")
	}
	o.Native.Machine = Machine()
	d, err := Open(Config{Native: o.Native, Device: k.Device, Coefficients: c, Seed: o.Spec.Seed, Reduce: k.Reduce, Unchecked: k.Unchecked, Sense: o.Sense, Say: o.Say})
	if errors.Is(err, native.ErrDevice) {
		err = exit.UsageError(err, o.Help)
	}
	if err != nil {
		return nil, err
	}
	out := &engine.Kernels{Driver: d, Facts: engine.Facts{Devices: d.Devices(), Libraries: d.Libraries()}, Vendor: d.VendorText()}
	if d.Emulated() {
		err = CheckTime(shapes, c, k.Reduce)
	}
	if err == nil {
		out.Rows, out.Jobs, err = d.Plan(shapes, few, o.Rule)
	}
	if errors.Is(err, ErrMemory) {
		err = exit.UsageError(err, "give a smaller --shape, or a smaller batch of it")
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return out, nil
}
