package hbm

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"zbench/bench/base/exit"
	"zbench/bench/base/stat"
	"zbench/bench/engine"
	"zbench/bench/run/spec"
	"zbench/bench/work/kernel"
	"zbench/internal/native"
)

// Family is a benchmark of kernels with the code that runs it. Each family registers itself in its
// own file, or in a package that cmd/zbench imports.
type Family struct {
	kernel.Family
	// Fill completes a request with the benchmark's defaults and returns a note about
	// them. A nil Fill changes nothing.
	Fill func(*spec.Kernels) (note string)
	// Open opens the devices and plans the rows. It completes the request, except Spec and the
	// kernel driver.
	Open func(Opening) (*engine.Kernels, error)
}

// Opening has the parameters for opening a family.
type Opening struct {
	Spec *spec.Spec
	// Native selects the libraries, without the loopback's machine.
	Native native.Choice
	// Host describes the host's memory, which the loopback measures on the wall clock.
	Host  HostFacts
	Sense Sense
	// Rule decides when a timing ends.
	Rule stat.Rule
	// Say receives the name of each shape when it begins.
	Say func(string)
	// Help is the hint for an error in the request.
	Help string
	// Node is the number of the node that this process drives; −1 if the process drives all nodes.
	// Only the loopback can drive all nodes.
	Node int
}

var families []Family

// Register adds a family. It returns its argument, so that a file can register its family in a
// variable declaration.
func Register(f Family) Family {
	families = append(families, f)
	slices.SortFunc(families, func(a, b Family) int { return cmp.Compare(a.Order, b.Order) })
	return f
}

// Families lists the benchmarks of kernels. The first one is hbm.
func Families() []Family { return slices.Clone(families) }

// The family hbm measures the streams.
var _ = Register(Family{Family: streamFamily, Open: func(o Opening) (*engine.Kernels, error) {
	return o.open(nil, "choose a smaller --size", func(d *Driver) (*engine.Kernels, error) { return d.planStreams(o.Spec.Kernels, o.Rule) })
}})

// open opens the devices. A fused kernel names its source files, and the loopback then only checks
// results. Streams name no files, and the loopback measures the host on the wall clock. `smaller`
// is the hint if memory is short.
func (o Opening) open(files []string, smaller string, plan func(*Driver) (*engine.Kernels, error)) (*engine.Kernels, error) {
	loopback, faults, k := o.Native.Backend == "loopback", o.Spec.Faults, o.Spec.Kernels
	switch {
	case len(faults) > 0 && !loopback:
		return nil, exit.Usagef("give --backend loopback", "--fault needs the loopback: it plants a simulated fault")
	case len(faults) > 1:
		return nil, exit.Usagef("give one", "--fault is given %d times; only one is possible", len(faults))
	case len(faults) > 0 && strings.HasPrefix(faults[0], "clock "):
		return nil, exit.Usagef("give it to zbench gemm", "--fault clock: here the loopback has no GPU whose clock is counted")
	case loopback:
		o.Native.Machine = HostMachine(len(files) == 0, faults, o.Host)
	}
	d, err := Open(Config{
		Native: o.Native, Seed: o.Spec.Seed, Warm: min(DefaultWarm, o.Rule.MaxTime), Sense: o.Sense, Peak: k.Peak,
		Devices: []int{k.Device}, All: k.AllGPUs, Host: loopback && len(files) == 0, Files: files, HostFacts: o.Host, Unchecked: k.Unchecked,
	})
	switch {
	case errors.Is(err, native.ErrDevice):
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
	p.Driver, p.Facts = d, engine.Facts{Devices: d.Devices(), Libraries: d.Libraries()}
	return p, nil
}
