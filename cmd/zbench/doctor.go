package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"zbench/bench/base/exit"
	"zbench/bench/base/slice"
	"zbench/bench/hardware/backend"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/internal/codeobject"
	"zbench/internal/doctor"
	"zbench/internal/linux"
	"zbench/internal/native"
)

// doctorOptions are the options of doctor.
type doctorOptions struct {
	// backend is auto (all backends) or the name of one. archs are the architectures for which
	// kernels are compiled.
	backend string
	archs   []string
	libraryOptions
	output
}

func newDoctor(s State) *cobra.Command {
	o := doctorOptions{output: output{bare: true}} // the findings are its whole output
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check this machine for what zbench needs", Args: noArgs,
		Long: `doctor finds and opens the libraries of every backend, reads their versions and
devices, and checks the system settings that reduce speed. Each problem has a
remedy. The search order is: folders given by flags, the loader's path, the
vendor's default folder, Python packages. Each library is first opened in a
child process, so a library that hangs or crashes is named.

The exit code is 0 if zbench can run here: on the backend of --backend, else on
any GPU, or on the loopback if there is no GPU. Otherwise it is 5, also if hbm
and kernels can run but RCCL or NCCL is missing for collectives.

--compile only checks that the run-time compiler of the backend builds every
kernel for these architectures; it needs no GPU. The exit code is 0 if all
compile, 1 if one does not, 5 without a compiler.`,
		Example: `  zbench doctor                                    everything
  zbench doctor --backend rocm --format json       one backend, for a script
  zbench doctor --compile gfx942,gfx90a            every kernel through hiprtc
  zbench doctor --compile sm_90 --nvrtc-lib FILE   every kernel through nvrtc`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("compile") && len(o.archs) == 0 { // a script may pass an empty variable
				return usagef("name one: --compile gfx942", "--compile names no architecture")
			}
			return runDoctor(cmd.Context(), s, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.backend, "backend", "auto", "libraries to look at: auto for all, "+strings.Join(native.Backends(), ", "))
	o.addFlags(f, "folder to create for doctor.json and report.html (default none)")
	f.StringSliceVar(&o.archs, "compile", nil, "compile every kernel for these architectures instead: gfx942, gfx90a, sm_90")
	addLibraryFlags(cmd, &o.libraryOptions)
	return cmd
}

func runDoctor(ctx context.Context, s State, o doctorOptions) error {
	if o.backend != "auto" && !slices.Contains(native.Backends(), o.backend) {
		return usage(unknownBackend(o.backend), listedBy("doctor"))
	}
	report := doctor.Report{Schema: doctor.Schema, Tool: toolVersion(), Host: s.Hostname()}
	if len(o.archs) > 0 {
		return runCompile(ctx, s, o, report)
	}
	for _, name := range native.Backends() {
		if o.backend == "auto" || o.backend == name {
			options, err := o.options(ctx, s, name)
			if err != nil {
				return err
			}
			report.Backends = append(report.Backends, backendFacts(options))
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
	}
	machine := machineOf(s)
	machine.GPUs = slice.Most(report.Backends, func(b doctor.Backend) int { return len(b.Devices) })
	for _, b := range report.Backends {
		if i := slices.IndexFunc(b.Libraries, func(l *native.Library) bool { return strings.HasPrefix(l.Name, "librccl") }); i >= 0 {
			machine.RCCL = b.Libraries[i].Version
		}
	}
	report.Machine = machine.Items()
	report.NotChecked = doctor.NotChecked()
	chosen, _ := chooseBackend(s, o.backend) // an error means that a GPU is expected but missing
	report.Judge(o.backend, chosen == "loopback")
	return o.show(s, &report, exit.Unavailable)
}

// show prints the report and keeps it in the folder of --out. unusable is the exit code for a
// machine that cannot be used.
func (o doctorOptions) show(s State, r *doctor.Report, unusable int) error {
	end := result{shown: r.Shown(), started: s.Now()}
	if !r.Usable {
		end.verdict = exit.Quiet(unusable)
	}
	return s.deliver(o.output, end)
}

// options returns the options for opening the libraries of a backend. Compiled kernels are not
// cached, because doctor must report what the compiler does now.
func (o doctorOptions) options(ctx context.Context, s State, backend string) (native.Choice, error) {
	n := native.Choice{Backend: backend, Getenv: s.Getenv}
	_, err := o.fill(ctx, s, &n)
	n.Cache = nil
	return n, err
}

// runCompile compiles every kernel for the requested architectures. It needs no GPU.
func runCompile(ctx context.Context, s State, o doctorOptions, report doctor.Report) error {
	of := o.backend
	if of == "auto" {
		of = vendorOf(o.archs[0])
	}
	if of == "loopback" {
		return usagef("the loopback's kernels are in the binary", "--compile needs --backend %s", backendNames(" or "))
	}
	b := doctor.Backend{Name: of, Install: backend.Like(of).Product}
	options, err := o.options(ctx, s, of)
	if err != nil {
		return err
	}
	c, err := native.OpenCompiler(options)
	if err != nil {
		report.Backends = []doctor.Backend{notOpened(b, err)}
		report.Verdict = "no run-time compiler"
		return o.show(s, &report, exit.Unavailable)
	}
	defer c.Close()
	b.Libraries = []*native.Library{c.Search}
	report.Usable = true
	for _, arch := range o.archs {
		compiled := compileKernels(c, arch)
		report.Usable = report.Usable && len(compiled.Errors) == 0
		b.Compiled = append(b.Compiled, compiled)
	}
	b.Usable, report.Verdict = report.Usable, "every kernel compiles for "+strings.Join(o.archs, ", ")
	if !report.Usable {
		b.Why, report.Verdict = "a kernel does not compile", "not every kernel compiles"
	}
	report.Backends = []doctor.Backend{b}
	return o.show(s, &report, exit.Run)
}

// vendorOf returns the backend of an architecture. The first letters of the name decide. For an
// unknown name it returns the first backend.
func vendorOf(arch string) string {
	for _, v := range backend.Vendors() {
		for prefix := range v.Waves {
			if strings.HasPrefix(arch, prefix) {
				return v.Backend
			}
		}
	}
	return backend.Like("").Backend
}

// compileKernels compiles every file of the kernel table and looks for the kernels in the compiled
// code.
func compileKernels(c *native.Compiler, arch string) doctor.Compiled {
	out := doctor.Compiled{Arch: arch}
	files, of := slice.Group(native.Kernels(), func(k native.Kernel) string { return k.File })
	c.Expect(len(files))
	out.Files = len(files)
	for _, file := range files {
		n, err := compileFile(c, arch, file, of[file])
		out.Kernels += n
		if err != nil {
			out.Errors = append(out.Errors, err.Error())
		}
	}
	return out
}

// compileFile returns the number of kernels in the compiled code of a file. It returns an error if
// a kernel is missing or the code is for another GPU.
func compileFile(c *native.Compiler, arch, file string, kernels []native.Kernel) (int, error) {
	code, err := c.Compile(native.CompileRequest{File: file, Arch: arch})
	if err != nil {
		return 0, err
	}
	object, err := codeobject.Read(code)
	if err != nil {
		return 0, fmt.Errorf("%s for %s: %w", file, arch, err)
	}
	base, _, _ := strings.Cut(arch, ":") // such as gfx942:sramecc+:xnack-
	if object.Target != "" && object.Target != strings.TrimRight(base, "af") && object.Target != base {
		return 0, fmt.Errorf("%s for %s: the code is for %s", file, arch, object.Target)
	}
	missing := slice.Where(slice.Map(kernels, func(k native.Kernel) string { return k.Name }), func(name string) bool { return !slices.Contains(object.Kernels, name) })
	if len(missing) > 0 {
		err = fmt.Errorf("%s for %s: the code lacks %s", file, arch, strings.Join(missing, ", "))
	}
	return len(kernels) - len(missing), err
}

// backendFacts opens a backend, asks for its properties, and closes it.
func backendFacts(o native.Choice) doctor.Backend {
	row, _ := backend.Of(o.Backend) // the loopback has no row
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
	b.Simulated, b.Libraries = p.Simulated, p.Searches()
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

// withoutCollectives adds the parts that work if a backend cannot be opened completely. hbm and
// kernels need no collectives library.
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

func devicesFacts(p *native.Provider, n int) []doctor.Device {
	list := make([]doctor.Device, n)
	for i := range list {
		d := &list[i]
		d.Index = i
		info, err := p.Device(i)
		if err == nil {
			d.Name, d.Arch, d.PCI = info.Name, info.Arch, info.PCI
			_, d.Bytes, err = p.Memory(i)
		}
		if err != nil {
			d.Err = err.Error()
		}
	}
	return list
}

// loopbackMachine returns one node of the default fabric.
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

// notOpened adds why a backend cannot be used.
func notOpened(b doctor.Backend, err error) doctor.Backend {
	b.Why, b.Remedy = err.Error(), "read the error text: zbench has no remedy for it"
	if u, is := errors.AsType[*native.UnavailableError](err); is {
		b.Why, b.Remedy, b.Libraries = u.What, u.Remedy, u.Searches
	}
	return b
}

// machineOf returns what doctor needs to know about the machine.
func machineOf(s State) doctor.Machine {
	return doctor.Machine{Tree: linux.Tree{FS: treeFS{s.FS, "/"}}, Access: s.FS.Access, Temp: s.Getenv("TMPDIR"), Host: preflightHost(s)}
}
