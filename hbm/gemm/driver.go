// Package gemm times a vendor's matrix products on one or more devices: each choice of the
// library's heuristics, PyTorch's call, and the plain product.
//
// Open a Driver and Plan the shapes. Each choice for a shape is a job of two passes on all devices
// at once. On the loopback a simulated library replaces the vendor's: products of reduced shapes
// are checked, and a model gives the times.
package gemm

import (
	"errors"
	"fmt"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/hardware/backend"
	"zbench/bench/hardware/device"
	"zbench/bench/run/record"
	"zbench/hbm"
	"zbench/internal/native"
)

// Config describes what to open.
type Config struct {
	Native native.Choice
	// Device is the index of the GPU. The value All opens every GPU.
	Device int
	All    bool
	// Seed determines the data.
	Seed  uint64
	Sense hbm.Sense
	// Unchecked is true if results are not verified.
	Unchecked bool
	// Say receives the name of each shape when it begins; nil is allowed.
	Say func(string)
}

// Machine returns a machine file for the loopback: devices on the virtual clock, with a simulated
// library of products. The `faults` are lines as in hbm.
func Machine(devices int, faults []string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "zbench-machine 1\nclock virtual\nranks %d\ngpus_per_process %d\nhbm_bytes 17179869184\nnoise 0.004\ngpu simulated MI300X\n", devices, devices)
	for _, f := range faults {
		fmt.Fprintf(&b, "fault %s\n", f)
	}
	return []byte(b.String())
}

// gpu is a device with its libraries and memory.
type gpu struct {
	info   record.Device
	stream native.Stream
	lt     *native.LT
	blas   *native.BLAS
	// arena holds the operands of the current target; workspace is the memory that the heuristics'
	// choices may use.
	arena, workspace native.Buffer
	// The timer `alone` runs the launches whose results are checked.
	alone *native.Timer
}

// Driver holds open devices. It is not safe for concurrent use, except Cancel.
type Driver struct {
	p   *native.Provider
	cfg Config
	// fnuz is true if the GPU's fp8 types are the FNUZ variants.
	fnuz  bool
	units []*gpu
	timer *native.Timer
	// noBLAS is the reason why there is no plain product; nil if there is one.
	noBLAS error
	// batch is the least duration of a batch in seconds; `warm` is the time that the same work runs
	// before the first sample.
	batch, warm float64
	// If `entered` is true, the operands of target `at` are on the devices.
	at      target
	entered bool
	blocks  map[string][]byte
}

// ErrMemory is wrapped by the error for a shape that needs more memory than a device has.
var ErrMemory = errors.New("not enough memory")

const (
	// workspaceBytes is the size of the workspace that choices may use: hipblaslt-bench's default.
	workspaceBytes = 128 << 20
	// warmSeconds is how long the load runs before the first sample, so that the GPU reaches its
	// steady clock and temperature.
	warmSeconds = 1.0
	// batchSeconds is the least duration of a batch between two events.
	batchSeconds = 5e-3
	// deadline is the limit of a checked launch, in seconds.
	deadline = 120.0
)

// Open opens the provider, the devices and the libraries.
func Open(cfg Config) (*Driver, error) {
	cfg.Native.Needs = []native.Role{native.RoleRuntime, native.RoleDriver}
	cfg.Native.Wants = []native.Role{native.RoleCompiler} // only for the kernel that counts clock cycles
	p, err := native.Open(cfg.Native)
	if err != nil {
		return nil, err
	}
	d := &Driver{p: p, cfg: cfg, batch: batchSeconds, warm: warmSeconds, blocks: map[string][]byte{}}
	if p.Simulated {
		d.batch, d.warm = 0, 0 // the simulated clock needs no batches and no warm-up
	}
	if err := d.open(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Driver) open() error {
	indices, err := d.p.Choose(d.cfg.All, d.cfg.Device)
	if err != nil {
		return err
	}
	var streams []native.Stream
	for _, index := range indices {
		u := &gpu{}
		d.units = append(d.units, u)
		if err := d.openUnit(u, index); err != nil {
			return err
		}
		streams = append(streams, u.stream)
	}
	if d.timer, err = d.p.NewTimer(streams); err != nil {
		return err
	}
	return d.timer.CountClocks()
}

func (d *Driver) openUnit(u *gpu, index int) error {
	about, err := d.p.Device(index)
	if err != nil {
		return err
	}
	d.fnuz = d.vendor().FNUZ == [2]int{about.CapabilityMajor, about.CapabilityMinor}
	if u.info, err = hbm.Describe(d.p, index, record.OnLoopback); err != nil {
		return err
	}
	if known, ok := device.Lookup(about.Name); ok {
		u.info.Cache = known.Cache // also on the loopback, which lays operands out as the imitated GPU would
	}
	if u.stream, err = d.p.NewStream(index); err != nil {
		return err
	}
	if u.alone, err = d.p.NewTimer([]native.Stream{u.stream}); err != nil {
		return err
	}
	if u.lt, err = d.p.FindLT(d.cfg.Native); err != nil {
		return err
	}
	if err := u.lt.Start(index); err != nil {
		return err
	}
	if u.blas, d.noBLAS = d.p.FindBLAS(d.cfg.Native); d.noBLAS == nil {
		d.noBLAS = u.blas.Start(u.stream)
	}
	u.workspace, err = d.p.Alloc(index, workspaceBytes)
	return err
}

// vendor returns the vendor row of the backend; for the loopback, the row of the imitated vendor.
func (d *Driver) vendor() backend.Vendor { return backend.Like(d.p.Backend) }

// Devices describes the open devices.
func (d *Driver) Devices() []record.Device {
	return slice.Map(d.units, func(u *gpu) record.Device { return u.info })
}

// Libraries returns the loaded libraries.
func (d *Driver) Libraries() []record.Library { return d.p.Libraries }

// VendorText names the libraries that compute the products.
func (d *Driver) VendorText() string {
	lt := d.units[0].lt.Library
	text := lt.Name
	if lt.Path != "" {
		text = lt.Path
	}
	if d.noBLAS != nil {
		return text + "; no plain product: " + d.noBLAS.Error()
	}
	text += "; " + d.units[0].blas.Library.Path
	if setting := d.units[0].blas.Setting(); setting != "" {
		text += ", " + setting
	}
	return text
}

// Cancel makes runs return native.ErrCancelled soon.
func (d *Driver) Cancel() { d.timer.Cancel() }

// Close frees everything. It may be called twice.
func (d *Driver) Close() error {
	if d.p == nil {
		return nil
	}
	var all []error
	if d.timer != nil {
		d.timer.Close()
	}
	for _, u := range d.units {
		for _, b := range []native.Buffer{u.arena, u.workspace} {
			if b.Bytes > 0 {
				all = append(all, d.p.Free(b))
			}
		}
		if u.alone != nil {
			u.alone.Close()
		}
		if u.lt != nil {
			u.lt.Close()
		}
		if u.blas != nil {
			u.blas.Close()
		}
		if u.stream != (native.Stream{}) {
			all = append(all, d.p.FreeStream(u.stream))
		}
	}
	d.p.Close()
	d.p = nil
	return errors.Join(all...)
}
