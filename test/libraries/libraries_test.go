// Package libraries holds the built zbench against the vendors' real libraries,
// which run without a GPU: HIP and RCCL in chroots of Debian, CUDA's and NCCL in
// folders.
// `make system-test-rocm system-test-cuda` fetches them and sets the variables;
// without these the tests skip.
package libraries

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/plain"
	"zbench/internal/doctor"
	"zbench/internal/native"
)

// place is where zbench runs: in a chroot, or here with a folder of libraries.
type place struct {
	variable, folder string
	// driver adds the library of CUDA's driver.
	driver bool
}

func at(t *testing.T, variable string) place {
	folder := os.Getenv(variable)
	if folder == "" {
		t.Skipf("%s is not set: make system-test-rocm and system-test-cuda set it", variable)
	}
	return place{variable: variable, folder: folder}
}

// result is how a command ended.
type result struct {
	code        int
	out, errors string
}

// run starts a zbench in its place, with nothing of this environment but a path.
func (p place) run(t *testing.T, zbench string, args ...string) result {
	command := exec.Command(zbench, args...)
	command.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/"}
	if strings.HasPrefix(p.variable, "ZBENCH_CUDA") {
		command = p.inFolder(command)
	} else {
		data, err := os.ReadFile(zbench)
		require.NoError(t, err)
		inside := "/tmp/" + filepath.Base(zbench)
		require.NoError(t, os.WriteFile(p.folder+inside, data, 0o755)) //nolint:gosec // it is to be run
		t.Cleanup(func() { require.NoError(t, os.Remove(p.folder+inside)) })
		command.Args = append([]string{"chroot", p.folder, inside}, args...)
		command.Path = "/usr/sbin/chroot"
	}
	var out, stderr bytes.Buffer
	command.Stdout, command.Stderr = &out, &stderr
	err := command.Run()
	var exit *exec.ExitError
	if err != nil {
		require.ErrorAs(t, err, &exit)
	}
	t.Logf("%s %s: exit %d\n%s%s", filepath.Base(zbench), strings.Join(args, " "), command.ProcessState.ExitCode(), out.String(), stderr.String())
	return result{command.ProcessState.ExitCode(), out.String(), stderr.String()}
}

func built(t *testing.T) string {
	zbench := os.Getenv("ZBENCH")
	require.NotEmpty(t, zbench, "ZBENCH names the built binary")
	return zbench
}

// report runs doctor and reads its JSON, which must be all of standard output.
func (p place) report(t *testing.T, zbench string, code int, args ...string) doctor.Report {
	r := p.run(t, zbench, append([]string{"doctor", "--format", "json"}, args...)...)
	require.Equal(t, code, r.code)
	var report doctor.Report
	require.NoError(t, json.Unmarshal([]byte(r.out), &report), "%s", r.out)
	require.Equal(t, doctor.Schema, report.Schema)
	return report
}

// HIP 5.7 and RCCL with NCCL's 2.13.4: opened, asked, complete, and no GPU.
func TestDoctorOnROCm(t *testing.T) {
	trixie := at(t, "ZBENCH_TRIXIE")
	report := trixie.report(t, built(t), 5, "--backend", "rocm")
	require.Len(t, report.Backends, 1)
	b := report.Backends[0]
	require.False(t, b.Usable)
	require.Contains(t, b.Why, "no device")
	require.NotEmpty(t, b.Remedy)
	require.Empty(t, b.Devices)
	require.NotEmpty(t, report.NotChecked)
	versions := map[string]string{}
	for _, l := range b.Libraries {
		versions[string(l.Role)] = l.Version
		require.Contains(t, l.Path, "/usr/lib/x86_64-linux-gnu/lib")
		require.Positive(t, l.Listed, "functions of the symbol list")
		for _, s := range l.Missing {
			require.False(t, s.Required, s.Name)
			require.NotEmpty(t, s.Lost, s.Name)
		}
	}
	require.Equal(t, "2.13.4", versions["collectives"])
	require.Equal(t, []string{"--cta-policy, --nonblocking", "--register", "--register buffer", "--register window", "communicators by a split (zbench soak)", "what ran a policy's calls, without a log"}, lost(t, b))
	require.Regexp(t, `^5\.7\.`, versions["runtime"])
	require.NotEmpty(t, versions["compiler"])
}

// since are the versions of NCCL's API that first have the functions which not all have (NVIDIA/nccl, the first tag whose
// src/nccl.h.in has the name), and RCCL's own (ROCm/rocm-systems, 2.31.2, which is not released).
var since = map[string]string{
	"ncclCommInitRankConfig": "2.14.3", "ncclCommSplit": "2.18.1", "ncclMemAlloc": "2.19.1", "ncclMemFree": "2.19.1", "ncclCommRegister": "2.19.1", "ncclCommDeregister": "2.19.1",
	"ncclCommWindowRegister": "2.27.3", "ncclCommWindowDeregister": "2.27.3", "ncclAlltoAll": "2.28.3", "ncclGather": "2.28.3", "ncclScatter": "2.28.3",
	"rcclGetCollImplInfo": "2.31.2", "rcclGetAlgoName": "2.31.2",
}

// lost is what the collectives library of a backend cannot do. Each function that it lacks came with a later version, and it
// lacks each that did. RCCL's all_to_all, gather and scatter are older than NCCL's, and NCCL has none of RCCL's own.
func lost(t *testing.T, b doctor.Backend) (all []string) {
	t.Helper()
	for _, l := range b.Libraries {
		if l.Role != "collectives" {
			continue
		}
		nccl := b.Name == "cuda"
		lacks := map[string]bool{}
		for _, s := range l.Missing {
			require.Contains(t, since, s.Name)
			lacks[s.Name] = true
			all = append(all, s.Lost)
		}
		for name, version := range since {
			if own := strings.HasPrefix(name, "rccl"); nccl && own || !nccl && version == "2.28.3" {
				continue
			}
			require.Equal(t, plain.Version(l.Version, version) < 0, lacks[name], "%s in %s %s", name, l.Name, l.Version)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// What librccl prints must not come before the record.
func TestCollectivesOnROCm(t *testing.T) {
	trixie := at(t, "ZBENCH_TRIXIE")
	r := trixie.run(t, built(t), "collectives", "--backend", "rocm", "--format", "json", "--out", "/tmp/zbench-none")
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(trixie.folder+"/tmp/zbench-none")) })
	require.Equal(t, 5, r.code)
	require.Empty(t, r.out)
	require.Contains(t, r.errors, "no device")
	require.Contains(t, r.errors, "--backend loopback")
	_, err := os.Stat(trixie.folder + "/tmp/zbench-none/results.json")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// soak opens the real libraries as collectives do, and ends with what is missing; with environments each is left out
// by name.
func TestSoakOnROCm(t *testing.T) {
	trixie := at(t, "ZBENCH_TRIXIE")
	const out = "/tmp/zbench-none"
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(trixie.folder+out)) })
	t.Run("alone", func(t *testing.T) {
		r := trixie.run(t, built(t), "soak", "--backend", "rocm", "-g", "2", "--out", out)
		require.Equal(t, 5, r.code)
		require.Empty(t, r.out)
		require.Contains(t, r.errors, "no device")
	})
	t.Run("environments", func(t *testing.T) {
		r := trixie.run(t, built(t), "soak", "--backend", "rocm", "-g", "2", "--out", out, "--vary", "NCCL_ALGO")
		require.Equal(t, 1, r.code)
		require.Empty(t, r.out)
		for _, name := range []string{"Ring", "Tree"} {
			require.Regexp(t, "NCCL_ALGO="+name+": 0 attempts; it is left out: .*exit code 5.*no device", r.errors)
		}
		require.Contains(t, r.errors, "no environment could be measured")
	})
}

// compilerCase is a real run-time compiler: the architectures that every kernel is compiled
// for, what its path contains, and an architecture that the planted mistake is for.
type compilerCase struct{ name, variable, archs, path, wrong string }

var compilers = []compilerCase{
	{"hiprtc_5.7", "ZBENCH_TRIXIE", "gfx942,gfx90a", "/libamdhip64.so.5", "gfx90a"},
	{"hiprtc_6_or_later", "ZBENCH_SID", "gfx942,gfx90a,gfx950", "/libhiprtc.so.", "gfx90a"},
	{"nvrtc_11.8", "ZBENCH_CUDA11", "sm_90", "/libnvrtc.so.11", "sm_80"},
	{"nvrtc_12.4", "ZBENCH_CUDA12", "sm_90", "/libnvrtc.so.12", "sm_80"},
}

// Every kernel of the table compiles with hiprtc, and is in the code for the GPU asked
// for. TestNVIDIAsKernelsSpillNothing compiles all of them with nvrtc.
func TestEveryKernelCompiles(t *testing.T) {
	for _, c := range compilers[:2] {
		t.Run(c.name, func(t *testing.T) {
			report := at(t, c.variable).report(t, built(t), 0, "--compile", c.archs)
			b := report.Backends[0]
			require.Contains(t, b.Libraries[0].Path, c.path)
			if c.variable == "ZBENCH_SID" {
				major := regexp.MustCompile(`\.so\.(\d+)`).FindStringSubmatch(b.Libraries[0].Path)
				n, err := strconv.Atoi(major[1])
				require.NoError(t, err)
				require.GreaterOrEqual(t, n, 6)
			}
			require.Len(t, b.Compiled, len(strings.Split(c.archs, ",")))
			for _, one := range b.Compiled {
				require.Empty(t, one.Errors)
				require.Equal(t, len(native.Kernels()), one.Kernels, one.Arch)
			}
		})
	}
}

// A kernel that does not compile is an error with the compiler's log; without
// this the test above could pass whatever the compilers say.
func TestAKernelThatDoesNotCompile(t *testing.T) {
	if !slices.ContainsFunc(compilers, func(c compilerCase) bool { return os.Getenv(c.variable) != "" }) {
		t.Skip("no compiler is here: make system-test-rocm and system-test-cuda fetch them")
	}
	zbench := planted(t)
	for _, c := range compilers {
		t.Run(c.name, func(t *testing.T) {
			right, _, _ := strings.Cut(c.archs, ",")
			b := at(t, c.variable).report(t, zbench, 1, "--compile", right+","+c.wrong).Backends[0]
			require.Contains(t, b.Libraries[0].Path, c.path)
			require.Len(t, b.Compiled, 2)
			require.Empty(t, b.Compiled[0].Errors)
			require.Equal(t, 2, b.Compiled[0].Files)
			faults := strings.Join(b.Compiled[1].Errors, "\n")
			require.Contains(t, faults, "delay.hip")
			require.Regexp(t, `delay\.hip[:(]\d+`, faults, "the compiler's log names the line")
			require.Contains(t, faults, "planted")
			require.Equal(t, b.Compiled[0].Kernels-1, b.Compiled[1].Kernels, "the other file is fine")
		})
	}
}

// In CI nothing may be skipped.
func TestVariablesAreSet(t *testing.T) {
	if os.Getenv("CI") == "" || os.Getenv("ZBENCH") == "" {
		t.Skip("not a system test in CI")
	}
	var missing error
	for name := range strings.SplitSeq(os.Getenv("ZBENCH_PLACES"), ",") {
		if os.Getenv(name) == "" {
			missing = errors.Join(missing, errors.New(name+" is not set"))
		}
	}
	require.NoError(t, missing)
}
