package main

import (
	"errors"
	"io/fs"
	"path"

	"zbench/bench/backend"
	"zbench/bench/fabric"
	"zbench/bench/spec"
	"zbench/internal/doctor"
	"zbench/internal/native"
)

// backendFacts opens a provider, asks it, and closes it again.
func backendFacts(o native.Choice) doctor.Backend {
	row, _ := backend.Of(o.Backend) // the loopback has none
	b := doctor.Backend{Name: o.Backend, Install: row.Product}
	if o.Backend == "loopback" {
		machine, err := loopbackMachine()
		if err != nil {
			return notOpened(b, err)
		}
		o.Machine = machine
	}
	p, err := native.Open(o)
	if err != nil {
		return withoutCollectives(notOpened(b, err), o)
	}
	defer p.Close()
	b.Simulated, b.Libraries = p.Simulated, libraryFacts(b.Name, p.Searches())
	n, err := p.Devices()
	if err != nil {
		return notOpened(b, err)
	}
	b.Usable = true
	b.Kernels = p.Compiles() == nil
	if o.Backend != "loopback" {
		b.Devices = devicesFacts(p, n)
	}
	return b
}

// withoutCollectives adds what there is to a backend that cannot be opened whole:
// hbm and kernels need no collectives library.
func withoutCollectives(b doctor.Backend, o native.Choice) doctor.Backend {
	o.Needs = native.KernelNeeds
	p, err := native.Open(o)
	if err != nil {
		return b
	}
	defer p.Close()
	n, err := p.Devices()
	if err != nil {
		return b
	}
	b.Kernels, b.Simulated, b.Devices = true, p.Simulated, devicesFacts(p, n)
	return b
}

func devicesFacts(p *native.Provider, n int) (list []doctor.Device) {
	for i := range n {
		list = append(list, deviceFacts(p, i))
	}
	return list
}

// loopbackMachine is one node of the default fabric.
func loopbackMachine() ([]byte, error) {
	f, err := fabric.ByName(fabric.Default)
	if err != nil {
		return nil, err
	}
	m, err := f.Resolve(spec.World{Nodes: 1, GPUsPerNode: f.Node.GPUs, GPUsPerProcess: 1}, fabric.Conditions{})
	if err != nil {
		return nil, err
	}
	return m.Text(), nil
}

// notOpened notes why a backend cannot run.
func notOpened(b doctor.Backend, err error) doctor.Backend {
	b.Why, b.Remedy = err.Error(), "read the error text: zbench has no remedy for it"
	if u, is := errors.AsType[*native.UnavailableError](err); is {
		b.Why, b.Remedy, b.Libraries = u.What, u.Remedy, libraryFacts(b.Name, u.Searches)
	}
	return b
}

func libraryFacts(backend string, searches []native.Search) []doctor.Library {
	var list []doctor.Library
	for _, s := range searches {
		l := doctor.Library{
			Role: string(s.Role), Name: s.Library, Path: s.Path, Version: s.Version,
			Required: s.Required, Lost: s.Lost, Flag: s.Flag, By: s.By, Remedy: s.Remedy,
			Listed: native.Listed(backend, s.Role),
		}
		for _, a := range s.Attempts {
			l.Attempts = append(l.Attempts, doctor.Attempt{Path: a.Path, Why: a.Why, Absent: a.Missing})
		}
		for _, m := range s.Missing {
			l.Missing = append(l.Missing, doctor.Symbol{Name: m.Name, Required: m.Required, Lost: m.Lost})
		}
		list = append(list, l)
	}
	return list
}

func deviceFacts(p *native.Provider, i int) doctor.Device {
	d := doctor.Device{Index: i}
	info, err := p.Device(i)
	if err == nil {
		d.Name, d.Arch, d.PCI = info.Name, info.Arch, info.PCI
		_, d.Bytes, err = p.Memory(i)
	}
	if err != nil {
		d.Err = err.Error()
	}
	return d
}

// machineOf is the State's machine as doctor sees it.
func machineOf(s State) doctor.Machine {
	return doctor.Machine{FS: rootFS{s.FS}, Access: s.FS.Access, Temp: s.Getenv("TMPDIR"), Host: preflightHost(s)}
}

// rootFS is the whole file system of a State, without the leading slash that
// fs.FS does not have.
type rootFS struct{ FS }

func (r rootFS) ReadFile(name string) ([]byte, error)       { return r.FS.ReadFile("/" + name) }
func (r rootFS) ReadDir(name string) ([]fs.DirEntry, error) { return r.FS.ReadDir("/" + name) }
func (r rootFS) Stat(name string) (fs.FileInfo, error)      { return r.FS.Stat("/" + name) }

// Open is there because fs.FS wants it: doctor reads whole files.
func (r rootFS) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: path.Join("/", name), Err: errors.ErrUnsupported}
}
