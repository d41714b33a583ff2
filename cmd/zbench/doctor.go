package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"zbench/bench/exit"
	"zbench/internal/doctor"
	"zbench/internal/native"
)

// doctorOptions are the options of doctor.
type doctorOptions struct {
	// backend is auto, all of them, or one by name; archs are to be compiled for.
	backend string
	archs   []string
	libraryOptions
	output
}

func newDoctor(s State) *cobra.Command {
	o := doctorOptions{output: output{quiet: true}} // its findings are all that it prints
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
			if cmd.Flags().Changed("compile") && len(o.archs) == 0 { // a script's empty variable
				return usagef("name one: --compile gfx942", "--compile names no architecture")
			}
			return runDoctor(cmd.Context(), s, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.backend, "backend", "auto", "libraries to look at: auto for all, "+strings.Join(native.Backends(), ", "))
	f.StringVar(&o.out, "out", "", "folder to create for doctor.json and report.html (default none)")
	formatFlag(f, &o.format)
	f.StringSliceVar(&o.archs, "compile", nil, "compile every kernel for these architectures instead: gfx942, gfx90a, sm_90")
	addLibraryFlags(cmd, &o.libraryOptions)
	return cmd
}

func runDoctor(ctx context.Context, s State, o doctorOptions) error {
	const help = "`zbench doctor --help-all` lists the flags"
	if err := checkFormat(o.format, help); err != nil {
		return err
	}
	if o.backend != "auto" && !slices.Contains(native.Backends(), o.backend) {
		return usage(unknownBackend(o.backend), help)
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
	for _, b := range report.Backends {
		machine.GPUs = max(machine.GPUs, len(b.Devices))
	}
	report.Machine = machine.Items()
	report.NotChecked = doctor.NotChecked()
	chosen, _ := chooseBackend(s, o.backend) // an error is: a GPU is meant, and none is here
	report.Judge(o.backend, chosen == "loopback")
	return o.show(s, &report, exit.Unavailable)
}

// show prints the report, and keeps it in the folder of --out. unusable is the exit code where it
// says that the machine cannot be used.
func (o doctorOptions) show(s State, r *doctor.Report, unusable int) error {
	end := result{shown: r.Shown(), started: s.Now()}
	if !r.Usable {
		end.verdict = quietError{unusable}
	}
	return s.deliver(o.output, end)
}

// options are for a backend's libraries. No compiled kernel is kept or taken: the
// question is what the compiler says now.
func (o doctorOptions) options(ctx context.Context, s State, backend string) (native.Choice, error) {
	n := native.Choice{Backend: backend, Getenv: s.Getenv}
	_, err := o.fill(ctx, s, &n)
	n.Cache = nil
	return n, err
}
