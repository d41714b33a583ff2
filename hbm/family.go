package hbm

import (
	"cmp"
	"errors"
	"slices"

	"zbench/bench/exit"
	"zbench/bench/kernel"
	"zbench/bench/plan"
	"zbench/bench/record"
	"zbench/bench/spec"
	"zbench/bench/stat"
	"zbench/internal/native"
)

// Family is a benchmark of kernels with what runs it. Each registers itself in a file of its own, or in
// a package that cmd/zbench imports.
type Family struct {
	kernel.Family
	// Fill completes a request that leaves out what the benchmark needs, and says what it takes; nil
	// completes none.
	Fill func(*spec.Kernels) (note string)
	// Open opens the devices and plans the rows. It fills in what the request leaves open.
	Open func(Opening) (*Planning, error)
}

// Opening is what a family opens for.
type Opening struct {
	Spec *spec.Spec
	// Native says which libraries, but for the loopback's machine.
	Native native.Choice
	// Host is the memory of the loopback's wall clock.
	Host HostFacts
	// Rule ends a timing.
	Rule stat.Rule
	// Say receives what is being done, a line each.
	Say func(string)
	// Help is the hint of an error in the request.
	Help string
}

// Planning is what a request measures: open devices, rows of the record, and the jobs that measure them.
type Planning struct {
	Driver interface {
		// Cancel makes what runs return soon; it may be called from elsewhere.
		Cancel()
		Close() error
		Devices() []record.Device
		Libraries() []native.Library
	}
	Rows []record.Kernel
	Jobs []plan.Job
	// More are rows that follow from what was measured; nil where none do.
	More func(*record.Record) ([]record.Kernel, []plan.Job)
	// Vendor is Source.Vendor.
	Vendor string
}

var families []Family

// Register adds a family. Its result serves a declaration in the family's own file.
func Register(f Family) Family {
	families = append(families, f)
	slices.SortFunc(families, func(a, b Family) int { return cmp.Compare(a.Order, b.Order) })
	return f
}

// Families lists the benchmarks of kernels; the first is hbm.
func Families() []Family { return slices.Clone(families) }

// The streams are hbm.
var _ = Register(Family{Family: streamFamily, Open: func(o Opening) (*Planning, error) {
	return o.open(nil, "choose a smaller --size", func(d *Driver) (*Planning, error) { return d.planStreams(o.Spec.Kernels, o.Rule) })
}})

// open opens the devices with the sources of a fused kernel, then the loopback checks results alone;
// without, for streams, it is the host on the wall clock. smaller is the hint where memory is short.
func (o Opening) open(files []string, smaller string, plan func(*Driver) (*Planning, error)) (*Planning, error) {
	loopback, faults, k := o.Native.Backend == "loopback", o.Spec.Faults, o.Spec.Kernels
	switch {
	case len(faults) > 0 && !loopback:
		return nil, exit.Usagef("give --backend loopback", "--fault needs the loopback: it plants a simulated fault")
	case len(faults) > 1:
		return nil, exit.Usagef("give one", "--fault is given %d times; only one is possible", len(faults))
	case loopback:
		o.Native.Machine = HostMachine(len(files) == 0, faults, o.Host)
	}
	d, err := Open(Config{
		Native: o.Native, Seed: o.Spec.Seed, Warm: DefaultWarm, Peak: k.Peak,
		Devices: []int{k.Device}, All: k.AllGPUs, Host: loopback && len(files) == 0, Files: files, HostFacts: o.Host,
	})
	switch {
	case errors.Is(err, ErrDevice):
		return nil, exit.UsageError(err, o.Help)
	case errors.Is(err, native.ErrMachine) && len(faults) > 0:
		return nil, exit.UsageError(err, `give --fault "store 0 BYTE"`)
	case err != nil:
		return nil, err
	}
	p, err := plan(d)
	if errors.Is(err, ErrRequest) {
		err = exit.UsageError(err, smaller)
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	p.Driver = d
	return p, nil
}
