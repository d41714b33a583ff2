package libraries

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/codeobject"
	"zbench/internal/native"
	"zbench/test/nvinfo"
)

// libraries is the folder with a place's libraries.
func (p place) libraries() string { return filepath.Join(p.folder, "usr/lib/x86_64-linux-gnu") }

// inFolder has a command look for libraries in a folder. Where a C library is
// among them they want that one: its loader starts the command then, with all
// that was linked into it from there.
func (p place) inFolder(command *exec.Cmd) *exec.Cmd {
	args := command.Args
	if loader := filepath.Join(p.libraries(), "ld-linux-x86-64.so.2"); exists(loader) {
		args = slices.Concat([]string{loader, "--library-path", p.libraries()}, args)
	}
	inside := exec.Command(args[0], args[1:]...)
	path := p.libraries()
	if p.driver {
		path += ":" + p.libraries() + "/nvidia/current"
	}
	inside.Env = append(command.Env, "ZBENCH_LIB_PATH="+path) //nolint:gocritic // this command's own
	return inside
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// withDriver adds the driver's library, which is there without the driver. Asked
// for devices by root, it makes a node that is not to stay.
func (p place) withDriver(t *testing.T) place {
	const node = "/dev/nvidiactl"
	if !exists(node) {
		t.Cleanup(func() { _ = os.Remove(node) }) // as a rule it was not made
	}
	p.driver = true
	return p
}

// CUDA 12 and the newest NCCL: opened, asked and complete; without the driver,
// and with its library alone. Each says what is missing and what to do.
func TestDoctorOnCUDA(t *testing.T) {
	none := at(t, "ZBENCH_CUDA12")
	if exists("/proc/driver/nvidia/version") {
		t.Skip("here is a driver")
	}
	for name, c := range map[string]struct {
		place          place
		why, remedy    string
		driver, listed string
	}{
		"without_a_driver": {none, "no driver library libcuda.so", "NVIDIA's kernel driver", "", ""},
		"without_a_device": {none.withDriver(t), "no device", "a GPU that this user may open", "12.4", "/nvidia/current/libcuda.so."},
	} {
		t.Run(name, func(t *testing.T) {
			r := c.place.run(t, built(t), "soak", "--backend", "cuda", "-g", "2", "--out", filepath.Join(t.TempDir(), "none"))
			require.Equal(t, 5, r.code)
			require.Contains(t, r.errors, c.why)
			report := c.place.report(t, built(t), 5, "--backend", "cuda")
			require.Len(t, report.Backends, 1)
			b := report.Backends[0]
			require.False(t, b.Usable)
			require.Contains(t, b.Why, c.why)
			require.Contains(t, b.Remedy, c.remedy)
			require.Empty(t, b.Devices)
			versions := map[string]string{}
			for _, l := range b.Libraries {
				versions[string(l.Role)] = l.Version
				require.Positive(t, l.Listed, "functions of the symbol list")
				if l.Role != "collectives" {
					require.Empty(t, l.Missing, "of %s", l.Name)
				}
				if l.Role == "driver" {
					require.Contains(t, l.Path, c.listed)
				} else {
					require.Contains(t, l.Path, none.libraries())
				}
			}
			require.Empty(t, lost(t, b), "of NCCL since 2.28")
			nccl := regexp.MustCompile(`^2\.(\d+)\.\d+$`).FindStringSubmatch(versions["collectives"])
			require.NotNil(t, nccl, versions["collectives"])
			minor, err := strconv.Atoi(nccl[1])
			require.NoError(t, err)
			require.GreaterOrEqual(t, minor, 28, "the first with ncclAlltoAll, ncclGather and ncclScatter")
			delete(versions, "collectives")
			require.Equal(t, map[string]string{"runtime": "12.4", "compiler": "12.4", "driver": c.driver}, versions)
			for _, f := range report.Machine {
				require.NotEqual(t, "backend cuda", f.Lost, "without a driver no node is missing: %+v", f)
			}
		})
	}
}

// What NCCL prints must not come before the record, and it is no result.
func TestCollectivesOnCUDA(t *testing.T) {
	none := at(t, "ZBENCH_CUDA12")
	if exists("/proc/driver/nvidia/version") {
		t.Skip("here is a driver")
	}
	for why, p := range map[string]place{"no driver library libcuda.so": none, "no device": none.withDriver(t)} {
		out := filepath.Join(t.TempDir(), "none")
		r := p.run(t, built(t), "collectives", "--backend", "cuda", "--format", "json", "--out", out)
		require.Equal(t, 5, r.code)
		require.Empty(t, r.out)
		require.Contains(t, r.errors, "cuda backend: not available on this machine: "+why)
		require.Contains(t, r.errors, "--backend loopback")
		require.False(t, exists(out))
	}
}

// registersMost is how many registers a thread of a kernel may have so that as
// many blocks share a multiprocessor as its source counts on, of 65,536: two of a
// product's 128 threads, five of a small product's, four of a norm's 256.
var registersMost = map[string]int{
	"zb_product_128": 255, "zb_triangle_128": 255, "zb_product_64": 96, "zb_triangle_64": 96,
	"zb_rmsnorm_bf16_1_block": 64, "zb_rmsnorm_bf16_1_large": 64, "zb_rmsnorm_bf16_1_wave": 64,
	"zb_layernorm_bf16_1_block": 64, "zb_rmsnorm_f16_1_block": 64,
	"zb_copy_f64_4_1": 32, "zb_read_f64_4_1": 48, "zb_triad_f64_4_1": 64, "zb_dot_f64_4_1": 64, "zb_muon_prepare": 40,
}

// spilling are kernels that no default takes and that spill a few registers, or
// do so once a row: two inputs of eight loads each, and norms of float and of
// single elements.
var spilling = regexp.MustCompile(`^zb_(add|triad)_f(32|64)_8_[01]$|^zb_(rms|layer)norm_(f32_1|(bf16|f16|f32)_0)_|^zb_layernorm_`)

// Every kernel of the table compiles with nvrtc and is in the code for sm_90, which keeps
// its registers.
func TestNVIDIAsKernelsSpillNothing(t *testing.T) {
	for _, variable := range []string{"ZBENCH_CUDA11", "ZBENCH_CUDA12"} {
		t.Run(variable, func(t *testing.T) {
			path := at(t, variable).libraries()
			c, err := native.OpenCompiler(native.Choice{
				Backend: "cuda", Named: map[string]string{"lib-path": path}, Getenv: func(string) string { return "" },
			})
			require.NoError(t, err)
			defer c.Close()
			var kernels []string
			uses := map[string]nvinfo.Use{}
			for _, k := range native.Kernels() {
				if _, known := uses[k.Name]; known {
					continue
				}
				code, err := c.Compile(native.CompileRequest{File: k.File, Arch: "sm_90"})
				require.NoError(t, err)
				object, err := codeobject.Read(code)
				require.NoError(t, err)
				require.Equal(t, "sm_90", object.Target, k.File)
				kernels = append(kernels, object.Kernels...)
				maps.Copy(uses, nvinfo.Read(t, code))
			}
			for _, k := range native.Kernels() {
				require.Contains(t, kernels, k.Name)
				use := uses[k.Name]
				require.Positive(t, use.Registers, k.Name)
				if !spilling.MatchString(k.Name) {
					require.Zero(t, use.Frame, "bytes of a thread of %s", k.Name)
				}
				if most, held := registersMost[k.Name]; held {
					require.LessOrEqual(t, use.Registers, most, "registers of %s", k.Name)
				}
			}
		})
	}
}
