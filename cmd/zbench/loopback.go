package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zbench/bench/answers/recommend"
	"zbench/bench/base/exit"
	"zbench/bench/base/folder"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/spell"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/internal/launch"
	"zbench/internal/native"
	"zbench/scripts"
)

// The clocks that a program on the loopback can see.
const (
	clockVirtual = "virtual"
	clockPaced   = "paced"
	clockHost    = "host"
)

var clocks = []string{clockVirtual, clockPaced, clockHost}

// loopbackOptions are the options of the loopback command.
type loopbackOptions struct {
	// want describes the simulated cluster: its world, fabric, seed and faults.
	want  spec.Spec
	clock string
	// gpus is the number of GPUs that each process sees; 0 means all GPUs of its node.
	gpus     int
	hangRate float64
	noData   bool
	// curve is a record or a log with measured times that replace the model's.
	curve string
	// version is the version that the collectives library reports; empty means the loopback's own.
	version string
	// torch has the options for PyTorch trainers.
	torch torchOptions
	// If print is true, the environment is printed instead of running a program. libraries is a
	// folder with libraries that were already built. cache is the folder in which they are built
	// otherwise.
	print, quiet     bool
	libraries, cache string
}

// loopbackWorld names the rows of specFlags that describe the simulated cluster.
var loopbackWorld = []string{"nodes", "gpus-per-node", "fabric", "seed", "fault"}

func newLoopback(s State) *cobra.Command {
	var o loopbackOptions
	cmd := &cobra.Command{
		Use:   "loopback [flags] -- PROGRAM [ARGUMENT…]",
		Short: "Run a program that uses HIP and RCCL on a simulated cluster",
		Long: `Runs a program on the loopback: libraries with HIP's and RCCL's names that need
no GPU. Collectives move real data between all processes on this host, and take
the time of the fabric's model: all figures that the program prints are
SIMULATED.

zbench writes the machine file, builds the libraries with this machine's C and
C++ compiler on the first run (cc, c++, or CC and CXX; under a minute), sets the
environment and becomes the program: its exit code, signals and standard streams
are its own. Put mpirun, srun or torchrun before zbench or behind it: all
processes of one launcher meet in one simulated cluster. All must run on this
host. A process sees the GPUs of its launcher's node, or with -g its own.

--clock virtual lets the program's clock show the model's time. It works for
programs that read the clock through the C library. --clock paced keeps the
host's clock and ends work when the model says so; it needs --no-data.
--torch runs a trainer of PyTorch for CPUs (2.6 or later), unchanged, as rank 0;
the other GPUs of the cluster do what it does. Operators take the time of a GPU:
at the end stands how long a step took, and how much of that was communication.
torch.cuda has stand-ins. A program that makes no collective or no step exits
with 6; --steps N ends one after N steps, and Ctrl-C sums up, too.
--real 0,8 makes rank 8 a process, too, where ranks differ: one for each role.
--what-if runs it again with a fault, the noise or a bucket size changed, and
says what made the step long.
docs/LOOPBACK.md has the details, and what the loopback cannot show.`,
		Example: `  zbench loopback --no-data -- all_reduce_perf -b 8 -e 1G -f 2 -g 8 -c 0
  zbench loopback --nodes 2 --no-data --fault slow_rail:node=1,rail=2,left=0.5 -- mpirun -np 16 all_reduce_perf -c 0
  zbench loopback --torch --sizes --nodes 128 --trace t.json -- python3 train.py
  eval "$(zbench loopback --nodes 2 --env)"`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			run := func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), s, args) }
			if o.torch.several() {
				return run(cmd, args) // the program prints its summary at Ctrl-C
			}
			return interruptible(run)(cmd, args)
		},
	}
	o.want = spec.Spec{Schema: spec.Schema, Benchmark: spec.Collectives, Sweep: &spec.Sweep{}}
	addFlags(cmd, &o.want, specRows(loopbackWorld))
	f := cmd.Flags()
	f.SetInterspersed(false) // flags after the program belong to the program
	f.IntVarP(&o.gpus, "ngpus", "g", 0, "GPUs that each process sees (default all of its launcher's node)")
	f.StringVar(&o.clock, "clock", clockVirtual, "clock that the program sees: "+strings.Join(clocks, ", "))
	f.Float64Var(&o.hangRate, "hang-rate", 1, "how many times as fast as the host's clock the virtual one runs while the program waits for what never ends")
	f.StringVar(&o.curve, "curve", "", "record or log of collectives on as many ranks: their measured times replace the model's")
	f.StringVar(&o.version, "library-version", "", "version that RCCL reports (default 2.30.4): functions and types that came later are refused")
	f.BoolVar(&o.noData, "no-data", false, "move no data: results are not written")
	o.torch.addFlags(f)
	f.BoolVar(&o.print, "env", false, "print the environment as a shell's exports instead of running a program")
	addQuiet(f, &o.quiet)
	f.StringVar(&o.libraries, "libraries", "", "folder of built libraries, as make loopback leaves it, instead of building them")
	f.StringVar(&o.cache, "cache-dir", "", "folder of built libraries and machine files (ZBENCH_CACHE_DIR; default below XDG_CACHE_HOME)")
	return cmd
}

// check refuses options that contradict each other.
func (o *loopbackOptions) check(args []string) error {
	switch {
	case !slices.Contains(clocks, o.clock):
		return usage(&spell.Unknown{Kind: "clock", Given: o.clock, Valid: clocks}, "`zbench loopback --help` describes the clocks")
	case o.clock == clockPaced && !o.noData:
		return usagef("add --no-data, or use --clock virtual", "--clock paced needs --no-data: to move data takes longer than the model's time")
	case !(o.hangRate > 0) || o.hangRate > 1e9:
		return usagef("give 1 for the host's speed, 100 to reach a time-out sooner", "--hang-rate must be above 0 and at most 1e9, not %g", o.hangRate)
	case o.torch.on && (o.gpus > 0 || o.clock != clockVirtual):
		return usagef("leave -g and --clock out", "--torch drives all GPUs of the cluster, on the model's clock")
	case !o.torch.on && o.torch.given():
		return usagef("add --torch", "--sizes, --steps, --tflops, --times, --trace, --real and --what-if are of --torch")
	case o.torch.steps < 0:
		return usagef("leave --steps out to run the program to its end", "--steps must be 1 or more, not %d", o.torch.steps)
	case o.print && o.torch.several():
		return usagef("leave --env out: zbench starts the processes", "--real and --what-if run several processes, and --env prints the environment of one")
	case !(o.torch.tflops > 0) || o.torch.tflops > 1e6:
		return usagef("give what a GPU reaches, not its peak", "--tflops must be above 0 and at most 1e6, not %g", o.torch.tflops)
	case o.gpus < 0:
		return usagef("leave -g out to show each process the GPUs of its launcher's node", "-g must be 1 or more, not %d", o.gpus)
	case o.print && len(args) > 0:
		return usagef("leave the program out, or --env", "--env prints the environment and runs no program")
	case !o.print && len(args) == 0:
		return usagef("`zbench loopback --no-data -- all_reduce_perf -g 8 -c 0`, or --env for the environment alone", "zbench loopback needs a program to run")
	}
	return nil
}

func (o *loopbackOptions) run(ctx context.Context, s State, args []string) error {
	if err := o.check(args); err != nil {
		return err
	}
	m, err := o.machine(s)
	if err == nil {
		err = o.torch.readTimes(s)
	}
	if err != nil {
		return err
	}
	if s.Getenv("ZBENCH_LOOPBACK_UNKNOWN_KERNELS") == "skip" && m.WrongData() {
		return usagef("supply versions of the program's kernels for the host (ZBENCH_LOOPBACK_KERNELS, docs/LOOPBACK.md), or leave out the fault or the variable",
			"ZBENCH_LOOPBACK_UNKNOWN_KERNELS=skip leaves out the kernels that would find a fault in the data")
	}
	program, err := o.found(s, args)
	if err != nil {
		return usage(err, "give a program's path, or a name that is in PATH")
	}
	role, err := launch.Detect(s.Getenv)
	if err != nil {
		return usage(err, "unset what is left over from another launcher")
	}
	if o.torch.on {
		if role.Size > 1 {
			return usagef("start it without a launcher: --nodes sets the world", "--torch simulates all ranks in one process; %s started %d", role.By, role.Size)
		}
		o.noData, o.gpus = true, m.Size()
	}
	if o.torch.several() && !o.print {
		s.note(o.quiet, "SIMULATED: %s, %s: the program's figures come from a model\n", o.clusterText(), o.torch.text(m))
		return o.runTrainers(ctx, s, program, args[1:])
	}
	set, err := o.environment(ctx, s, m, role)
	if err != nil {
		return err
	}
	if o.print {
		return printExports(s, set)
	}
	how := "--clock " + o.clock
	if o.torch.on {
		how = o.torch.text(m)
	}
	s.note(o.quiet || role.Rank > 0, "SIMULATED: %s, %s: the program's figures come from a model\n", o.clusterText(), how)
	line := launch.Line{Set: set}
	if err := s.Become(program, args, line.Environ(s.Environ(), "")); err != nil {
		return exit.With(exit.Run, fmt.Errorf("%s cannot be started: %w", program, err), "check that it is a program for this machine")
	}
	return nil
}

// found returns the file of the program, or empty text if the environment is printed.
func (o *loopbackOptions) found(s State, args []string) (string, error) {
	if o.print {
		return "", nil
	}
	return lookPath(s, args[0])
}

func (o *loopbackOptions) clusterText() string {
	w := o.want.World
	text := fmt.Sprintf("%d GPUs of fabric %s (--nodes %d --gpus-per-node %d)", w.Nodes*w.GPUsPerNode, o.want.Fabric, w.Nodes, w.GPUsPerNode)
	if o.curve != "" {
		text += ", collectives in " + plain.Line(o.curve) + " as measured there"
	}
	return text
}

// hardware returns the fabric, given by its name or its file.
func (o *loopbackOptions) hardware(s State) (*fabric.Fabric, error) {
	if !strings.ContainsAny(o.want.Fabric, "./") {
		f, err := fabric.ByName(o.want.Fabric)
		if err != nil {
			return nil, usage(err, "`zbench list fabrics` describes them; a file has a dot or a slash in its name")
		}
		return f, nil
	}
	text, err := s.FS.ReadFile(o.want.Fabric)
	if err != nil {
		return nil, usage(err, "--fabric takes a name of `zbench list fabrics`, or a file of that form")
	}
	f, err := fabric.Parse(text)
	if err != nil {
		return nil, usage(fmt.Errorf("%s: %w", o.want.Fabric, err), "bench/work/fabric/data in zbench's sources has examples")
	}
	return f, nil
}

// machine resolves the simulated cluster. The host of each GPU has its own clock. A thread that
// drives several GPUs carries its time from one to the next.
func (o *loopbackOptions) machine(s State) (*fabric.Machine, error) {
	f, err := o.hardware(s)
	if err != nil {
		return nil, err
	}
	w := &o.want.World
	w.GPUsPerProcess = 1
	w.GPUsPerNode = cmp.Or(w.GPUsPerNode, f.Node.GPUs)
	m, err := f.Resolve(*w, fabric.Conditions{Seed: o.want.Seed, Faults: o.want.Faults})
	if err != nil {
		return nil, usage(err, "`zbench list faults` and `zbench list fabrics` describe what can be simulated")
	}
	if o.version != "" {
		if m.CollVersion, err = fabric.ReadCollVersion(o.version); err != nil {
			return nil, usage(fmt.Errorf("--library-version: %w", err), "leave it out for 2.30.4")
		}
	}
	if o.gpus > m.Size() {
		return nil, usagef("give more --nodes, or a smaller -g", "-g %d is more than the %d GPUs of the simulated cluster", o.gpus, m.Size())
	}
	if o.curve == "" {
		return m, nil
	}
	healthy, err := f.Resolve(*w, fabric.Conditions{})
	if err != nil {
		return nil, err
	}
	return m, o.measured(s, m, healthy)
}

// measured replaces the machine's times by those in the file of --curve. If a collective has
// several curves, the curve with the most points is used. Among curves with equally many points,
// the curve of the in-place collective is used.
func (o *loopbackOptions) measured(s State, m, healthy *fabric.Machine) error {
	source, err := readSource(s, o.curve)
	if err != nil {
		return err
	}
	curves, err := recommend.Curves([]recommend.Source{source})
	if err != nil {
		return usage(err, "give a file whose sizes are totals")
	}
	best := map[string]recommend.Curve{}
	for _, c := range curves {
		b, known := best[c.Collective]
		if c.Ranks == m.Size() && c.Groups == 1 && (!known || len(c.Points) > len(b.Points) || len(c.Points) == len(b.Points) && c.InPlace) {
			best[c.Collective] = c
		}
	}
	for _, name := range slices.Sorted(maps.Keys(best)) {
		points := slice.Map(best[name].Points, func(p recommend.Point) fabric.Point { return fabric.Point{Bytes: p.Bytes, Seconds: p.Seconds} })
		m.Measure(name, points, healthy)
	}
	if len(best) == 0 {
		return usagef("give --nodes and --gpus-per-node of the file's world", "--curve %s has no times of collectives on %d ranks", o.curve, m.Size())
	}
	return nil
}

// arenaVariable is the variable with the file that a program's processes share.
const arenaVariable = "ZBENCH_LOOPBACK_SHARED"

// environment returns the variables for the program's processes: libraries, machine file and shared
// file.
func (o *loopbackOptions) environment(ctx context.Context, s State, m *fabric.Machine, role launch.Role) ([]launch.Var, error) {
	cache, err := o.cacheFolder(s)
	if err != nil {
		return nil, err
	}
	libraries, err := o.builtLibraries(ctx, s, cache)
	if err != nil {
		return nil, err
	}
	machine, err := keepFile(s, cache, "machine", m.Text())
	if err != nil {
		return nil, err
	}
	arena, err := arenaFile(s, role)
	if err != nil {
		return nil, err
	}
	set := []launch.Var{
		{Name: "ZBENCH_LOOPBACK", Value: machine},
		{Name: arenaVariable, Value: arena},
		{Name: "ZBENCH_LOOPBACK_CLOCK", Value: o.keptBy()},
		{Name: "LD_LIBRARY_PATH", Value: before(libraries, s.Getenv("LD_LIBRARY_PATH"))},
	}
	if o.clock == clockVirtual {
		set = append(set, launch.Var{Name: "LD_PRELOAD", Value: before(filepath.Join(libraries, clockLibrary), s.Getenv("LD_PRELOAD"))},
			launch.Var{Name: "ZBENCH_LOOPBACK_HANG_RATE", Value: strconv.FormatFloat(o.hangRate, 'g', -1, 64)})
	}
	if o.noData {
		set = append(set, launch.Var{Name: "ZBENCH_LOOPBACK_DATA", Value: "0"})
	}
	if o.gpus > 0 {
		set = append(set, launch.Number("ZBENCH_LOOPBACK_GPUS", o.gpus))
	}
	if o.torch.on {
		more, err := o.torch.environment(s, cache, m)
		return append(set, more...), err
	}
	return set, nil
}

// keptBy returns the clock that the libraries must keep. With --torch, one process drives GPUs of
// many hosts, so the Python files give the preloaded library the time of the first host.
func (o *loopbackOptions) keptBy() string {
	if o.torch.on {
		return clockHost
	}
	return o.clock
}

// `before` puts a path in front of a list of paths.
func before(path, list string) string {
	if list == "" {
		return path
	}
	return path + ":" + list
}

// printExports prints the variables as commands of a shell.
func printExports(s State, set []launch.Var) error {
	var b strings.Builder
	for _, v := range set {
		fmt.Fprintf(&b, "export %s='%s'\n", v.Name, strings.ReplaceAll(v.Value, "'", `'\''`))
	}
	_, err := fmt.Fprint(s.Stdout, b.String())
	return err
}

// clockLibrary is the library that is preloaded for the virtual clock. No vendor has a library with
// this name, so that the name identifies a folder of the loopback.
const clockLibrary = "libzbench-clock.so"

// loopbackNames are the libraries in a folder of the loopback.
var loopbackNames = []string{"libamdhip64.so.6", "librccl.so.1", clockLibrary}

// cacheFolder returns the folder for built libraries and machine files.
func (o *loopbackOptions) cacheFolder(s State) (string, error) {
	folder := cmp.Or(o.cache, cacheBelow(s, "loopback", "loopback"))
	if folder == "" {
		return "", usagef("give --cache-dir, or set ZBENCH_CACHE_DIR, XDG_CACHE_HOME or HOME", "there is no folder to keep the loopback's files in")
	}
	folder, err := filepath.Abs(folder)
	if err == nil {
		err = s.FS.MkdirAll(folder)
	}
	return folder, err
}

// builtLibraries returns a folder with the loopback's libraries: the user's folder, or the folder
// of libraries that zbench builds.
func (o *loopbackOptions) builtLibraries(ctx context.Context, s State, cache string) (string, error) {
	if o.libraries == "" {
		return buildLibraries(ctx, s, cache)
	}
	folder, err := filepath.Abs(o.libraries)
	if err != nil {
		return "", err
	}
	var lacks []string
	for _, below := range []string{"rocm/lib", "lib", ""} {
		dir := filepath.Join(folder, below)
		if lacks = missingIn(s, dir); len(lacks) == 0 {
			return dir, nil
		}
	}
	return "", exit.With(exit.Unavailable, fmt.Errorf("--libraries %s: the loopback's libraries are not there (%s)", o.libraries, strings.Join(lacks, ", ")),
		"make loopback in zbench's sources leaves them in bin/loopback; without --libraries zbench builds them")
}

func missingIn(s State, dir string) []string {
	return slices.DeleteFunc(slices.Clone(loopbackNames), func(name string) bool {
		_, err := s.FS.Stat(filepath.Join(dir, name))
		return err == nil
	})
}

// buildLibraries builds the libraries from the sources in this binary, once per version of the
// sources and per compiler.
func buildLibraries(ctx context.Context, s State, cache string) (string, error) {
	files, sum, err := loopbackSources(s)
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, sum)
	lib, complete := filepath.Join(folder, "rocm/lib"), filepath.Join(folder, "complete")
	if built, err := builtLibraries(s, lib, complete); built || err != nil {
		return lib, err
	}
	shell, err := buildTools(s)
	if err != nil {
		return "", err
	}
	unlock, err := waitForLock(ctx, s, folder+".lock")
	if err != nil {
		return "", err
	}
	defer unlock() //nolint:errcheck // the next run replaces a lock that remains
	if built, err := builtLibraries(s, lib, complete); built || err != nil {
		return lib, err // another process has built them meanwhile
	}
	s.note(false, "building the loopback's libraries in %s\n", folder)
	if err := keepFiles(s, filepath.Join(folder, "source"), files); err != nil {
		return "", err
	}
	if err := build(ctx, s, []string{shell, filepath.Join(folder, "source/scripts/loopback.sh"), folder}, cache); err != nil {
		return "", err
	}
	sums, err := sumsOf(s, lib)
	if err != nil {
		return "", err
	}
	return lib, s.FS.WriteFile(complete, sums)
}

// builtLibraries reports whether a folder has complete and unchanged libraries. It does not trust a
// folder that other users can write, because programs will run this code.
func builtLibraries(s State, lib, complete string) (bool, error) {
	want, err := s.FS.ReadFile(complete)
	if err != nil {
		return false, nil //nolint:nilerr // the libraries must then be built
	}
	folder := filepath.Dir(complete)
	files := []string{filepath.Dir(folder), folder, filepath.Dir(lib), lib, complete}
	entries, _ := s.FS.ReadDir(lib) // without entries there are no checksums
	for _, e := range entries {
		files = append(files, filepath.Join(lib, e.Name()))
	}
	for _, name := range files {
		if err := s.FS.Mine(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, exit.With(exit.Run, fmt.Errorf("the loopback's libraries are not used: %w", err), "remove "+folder+", or choose another --cache-dir")
		}
	}
	have, err := sumsOf(s, lib)
	return err == nil && bytes.Equal(have, want), nil
}

// sumsOf returns the checksums of the files in a folder, one per line.
func sumsOf(s State, dir string) ([]byte, error) {
	entries, err := s.FS.ReadDir(dir)
	var out []byte
	for _, e := range entries {
		text, failed := s.FS.ReadFile(filepath.Join(dir, e.Name()))
		err = cmp.Or(err, failed)
		out = fmt.Appendf(out, "%x  %s\n", sha256.Sum256(text), e.Name())
	}
	return out, err
}

// loopbackSources returns the source files of the libraries by path. sum identifies the sources and
// the compilers.
func loopbackSources(s State) (files map[string][]byte, sum string, err error) {
	files = map[string][]byte{"scripts/loopback.sh": scripts.Loopback}
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s %s\n%s\n", compilerName(s, "CC"), compilerName(s, "CXX"), scripts.Loopback)
	err = fs.WalkDir(native.Sources(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(native.Sources(), name)
		files[filepath.Join("internal/native", name)] = text
		_, _ = fmt.Fprintf(h, "%s %d\n%s\n", name, len(text), text)
		return err
	})
	return files, hex.EncodeToString(h.Sum(nil))[:16], err
}

// compilerName returns the command for a compiler.
func compilerName(s State, variable string) string {
	return cmp.Or(s.Getenv(variable), map[string]string{"CC": "cc", "CXX": "c++"}[variable])
}

// buildTools finds bash and the compilers. It returns the path of bash.
func buildTools(s State) (string, error) {
	shell := ""
	for _, name := range []string{compilerName(s, "CC"), compilerName(s, "CXX"), "bash"} {
		command, _, _ := strings.Cut(name, " ") // as in CC="ccache gcc"
		file, err := lookPath(s, command)
		if err != nil {
			return "", exit.With(exit.Unavailable, fmt.Errorf("the loopback's libraries cannot be built: %w", err),
				"install a C and C++ compiler (Debian: build-essential) or name them in CC and CXX, or give --libraries with the folder that make loopback has built")
		}
		shell = file
	}
	return shell, nil
}

// build runs the script that builds the libraries. Object files that several versions share stay in
// the cache folder.
func build(ctx context.Context, s State, argv []string, cache string) error {
	line := launch.Line{Set: []launch.Var{{Name: "ONLY", Value: "rocm"}, {Name: "XDG_CACHE_HOME", Value: cache}}, Unset: []string{"NOISY", "LD_PRELOAD"}}
	child, err := s.Start(Command{Argv: argv, Environ: line.Environ(s.Environ(), "")})
	if err != nil {
		return exit.With(exit.Unavailable, fmt.Errorf("%s cannot be started: %w", argv[0], err), "give --libraries with the folder that make loopback has built")
	}
	defer context.AfterFunc(ctx, child.Kill)()
	code, how := child.Wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case code != 0:
		return exit.With(exit.Unavailable, fmt.Errorf("the loopback's libraries could not be built (%s): the compiler's messages are above", how),
			"name other compilers in CC and CXX, or give --libraries with the folder that make loopback has built")
	}
	return nil
}

// lockPoll is the time between two attempts to get a lock.
const lockPoll = 200 * time.Millisecond

// waitForLock takes a lock. It waits while another process holds the lock.
func waitForLock(ctx context.Context, s State, file string) (unlock func() error, err error) {
	for {
		unlock, _, err = s.FS.Lock(file, fmt.Sprintf("process %d on %s", s.PID, s.Hostname()))
		if held := (*folder.LockedError)(nil); !errors.As(err, &held) {
			return unlock, err
		}
		again := time.NewTimer(lockPoll)
		select {
		case <-ctx.Done():
			again.Stop()
			return nil, ctx.Err()
		case <-again.C:
		}
	}
}

// keepFile writes a file whose name is made from its content, so that it never changes while
// processes read it.
func keepFile(s State, cache, kind string, text []byte) (string, error) {
	sum := sha256.Sum256(text)
	name := kind + "-" + hex.EncodeToString(sum[:8])
	return filepath.Join(cache, name), keepFiles(s, cache, map[string][]byte{name: text})
}

// keepFiles writes files into a folder, unless they exist with the same content.
func keepFiles(s State, folder string, files map[string][]byte) error {
	for name, text := range files {
		file := filepath.Join(folder, name)
		if have, err := s.FS.ReadFile(file); err == nil && bytes.Equal(have, text) {
			continue
		}
		if err := cmp.Or(s.FS.MkdirAll(filepath.Dir(file)), s.FS.WriteFile(file, text)); err != nil {
			return err
		}
	}
	return nil
}
