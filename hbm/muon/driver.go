// Package muon runs the kernels of the Muon optimiser on one device: a whole step over a batch of
// equal matrices, and its parts, timed one by one. Results are compared with float64.
//
// Open a Driver and Plan the shapes: each row of a shape is a job of two passes. On the loopback
// the kernels are emulated: results are checked, nothing is timed.
package muon

import (
	"errors"
	"fmt"

	"zbench/bench/hardware/device"
	"zbench/bench/run/record"
	method "zbench/bench/work/muon"
	"zbench/hbm"
	"zbench/internal/native"
)

// Config describes what to open.
type Config struct {
	Native       native.Choice
	Device       int
	Coefficients method.Coefficients
	// Reduce is the longest side of an emulated shape. Larger shapes are reduced to this
	// length, with the ratio of their sides kept; 0 emulates every shape as it is.
	Reduce int
	// Seed determines the gradients, momenta and weights.
	Seed  uint64
	Sense hbm.Sense
	// Unchecked is true if results are not verified.
	Unchecked bool
	// Say receives each shape when it begins, with the shape that replaces it, if any; nil is
	// allowed.
	Say func(string)
}

// Machine returns the loopback's machine file for kernels: one device. Its clock is not used.
func Machine() []byte {
	return []byte("zbench-machine 1\nclock virtual\nranks 1\ngpus_per_process 1\nhbm_bytes 17179869184\ngpu emulated\n")
}

// Driver is one device with the kernels loaded. It is not safe for concurrent use, except Cancel.
type Driver struct {
	p       *native.Provider
	cfg     Config
	info    native.DeviceInfo
	about   record.Device
	wave    int
	stream  native.Stream
	timer   *native.Timer
	modules []*native.Module
	kernels map[string]native.Function
	// blas has the vendor's products; noVendor is the reason if there are none.
	blas     *native.BLAS
	noVendor error
	// If `timed` is true, the loopback is timed like a GPU. Only tests set it.
	timed bool
	// batch and settle are batchSeconds and warmSeconds; tests set them to 0.
	batch, settle float64
	// A launch of a product takes at most `most` matrices, by default native.MuonBatch.
	most int
	// work belongs to the most recently measured target. The map `checks` has the results of each
	// target's first pass, by kernel.
	work   *Work
	at     target
	checks map[target]map[string][]record.Check
}

// ErrMemory is wrapped by the error for a shape that needs more memory than a device has.
var ErrMemory = errors.New("not enough memory")

// Open opens the provider and compiles the kernels for the device.
func Open(cfg Config) (*Driver, error) {
	cfg.Native.Needs = native.KernelNeeds
	p, err := native.Open(cfg.Native)
	if err != nil {
		return nil, err
	}
	d := &Driver{p: p, cfg: cfg, kernels: map[string]native.Function{}, batch: batchSeconds, settle: warmSeconds, most: native.MuonBatch, checks: map[target]map[string][]record.Check{}}
	d.blas, d.noVendor = p.FindBLAS(cfg.Native) // a missing library is no error
	if err := d.open(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Driver) open() error {
	_, err := d.p.Choose(false, d.cfg.Device)
	if err != nil {
		return err
	}
	if d.info, err = d.p.Device(d.cfg.Device); err != nil {
		return err
	}
	if d.about, err = hbm.Describe(d.p, d.cfg.Device, record.Checked); err != nil {
		return err
	}
	d.wave = d.info.Wave
	if d.p.Simulated {
		d.wave = 1 // on the host one thread does the work of a wave
	}
	if d.stream, err = d.p.NewStream(d.cfg.Device); err != nil {
		return err
	}
	if d.timer, err = d.p.NewTimer([]native.Stream{d.stream}); err != nil {
		return err
	}
	d.startVendor()
	files := []string{"muon_step.hip", "muon_product.hip"}
	if d.vendors() {
		files = append(files, mirrorFile)
	}
	d.p.Expect(len(files), []int{d.cfg.Device})
	for _, file := range files {
		if err := d.load(file); err != nil {
			return err
		}
	}
	if d.Emulated() {
		return nil
	}
	return d.timer.CountClocks()
}

// mirrorFile has the kernel that only the vendor's products need.
const mirrorFile = "muon_mirror.hip"

// load compiles a file's kernels for the device.
func (d *Driver) load(file string) error {
	m, err := d.p.LoadModule(d.cfg.Device, file, d.defines())
	if err != nil {
		return err
	}
	d.modules = append(d.modules, m)
	for _, k := range native.Kernels() {
		if k.File != file {
			continue
		}
		if d.kernels[k.Name], err = m.Function(k.Name); err != nil {
			return err
		}
	}
	return nil
}

// defines returns the macros that the kernels are compiled with.
func (d *Driver) defines() []string {
	dies := device.Dies(d.info.Dies, d.info.CapabilityMajor, d.info.CapabilityMinor, d.info.Units)
	return []string{fmt.Sprintf("ZB_DIES=%d", dies)}
}

// Close frees everything. It may be called twice.
func (d *Driver) Close() error {
	all := []error{d.leave()}
	if d.blas != nil {
		d.blas.Close()
		d.blas = nil
	}
	if d.timer != nil {
		d.timer.Close()
		all = append(all, d.p.FreeStream(d.stream))
	}
	for _, m := range d.modules {
		all = append(all, m.Close())
	}
	d.timer, d.modules = nil, nil
	d.p.Close()
	return errors.Join(all...)
}

// Emulated reports whether the kernels run on the host, where they are not timed.
func (d *Driver) Emulated() bool { return d.p.Simulated && !d.timed }

// Devices describes the open device.
func (d *Driver) Devices() []record.Device { return []record.Device{d.about} }

// Libraries returns the loaded libraries.
func (d *Driver) Libraries() []record.Library { return d.p.Libraries }

// Free returns the device's free memory in bytes.
func (d *Driver) Free() (int64, error) {
	free, _, err := d.p.Memory(d.cfg.Device)
	return free, err
}

// Cancel makes runs return native.ErrCancelled soon.
func (d *Driver) Cancel() { d.timer.Cancel() }

const (
	// deadline is the time limit of a sequence of launches, in seconds.
	deadline = 120.0
	// batchSeconds is the least duration of a batch between two events, so that an event's cost and
	// resolution do not matter.
	batchSeconds = 2e-3
	// warmSeconds is how long the same work runs before the first sample, so that clocks settle.
	warmSeconds = 0.2
)

// run launches a sequence once and waits for it.
func (d *Driver) run(steps ...native.Step) error {
	if err := d.timer.Load([][]native.Step{steps}); err != nil {
		return err
	}
	_, err := d.timer.Run(1, deadline)
	return err
}
