package native

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// isaRow is what the code that clang-19 makes of one kernel for gfx942 must be.
// Every kernel is held to no spills, no memory of a thread's own, at most maxLDS
// bytes of shared memory and maxVGPR registers; a row adds to it.
//
// To add a kernel, compile it once (CONTRIBUTING.md, "Adding a kernel"), look at
// what it does all the time, and write that down: the instructions that make it
// fast in want, those that would mean the compiler has seen something else in
// forbid. Both are regular expressions over the kernel's own instructions.
type isaRow struct {
	want, forbid []string
	// 0 is the default: 64 KiB of LDS, which is what a block of gfx942 has, and
	// 128 registers, with which a block of 1,024 threads still fits. VGPRs and
	// accumulation registers count together.
	maxVGPR, maxLDS int
	// occupancy is the least waves a SIMD that registers and LDS leave room for,
	// as the compiler counts them; 0 is any.
	occupancy int
	// maxVector is the most vector instructions, maxParted the most places where
	// lanes part: what is done for each element makes both grow. 0 is any.
	maxVector, maxParted int
	// ptx are expressions that sm_90's code must have.
	ptx []string
}

const (
	defaultVGPR = 128
	defaultLDS  = 64 << 10
	// flat instructions also wait for LDS: a pointer's address space was lost
	flatAccess = `\bflat_(load|store)`
)

var isaRows = map[string]isaRow{
	// one element a thread, of every width; the tile is found once a row
	"zb_fill": {want: []string{
		`global_store_byte`, `global_store_short`, `global_store_dword `, `global_store_dwordx2`,
	}, forbid: []string{flatAccess, `global_load_dwordx4`, `global_atomic`}, maxVGPR: 64},
	"zb_poison": {want: []string{`global_store_byte`}, forbid: []string{flatAccess, `global_load_u`, `global_atomic`}, maxVGPR: 32},
	// wrong elements are counted and the first is kept with 64-bit atomics
	"zb_check": {want: []string{
		`global_load_ubyte`, `global_load_ushort`, `global_load_dwordx2`, `global_atomic_add_x2`,
	}, forbid: []string{flatAccess}, maxVGPR: 64},
	"zb_explain": {want: []string{`global_store_dwordx4`}, forbid: []string{flatAccess, `global_atomic`}, maxVGPR: 32},
	// 8 elements a thread at once: whole vectors in and out, and what is behind them
	"zb_accumulate_bf16": {want: []string{
		`global_load_dwordx4`, `global_store_dwordx4`, `global_load_ushort`,
	}, forbid: []string{flatAccess, `global_atomic`}, maxVGPR: 64},
	// both clocks of a unit, whose number is read from its registers
	"zb_clock": {
		want: []string{`s_memtime`, `s_memrealtime`, `s_getreg_b32 \S+ hwreg\(HW_REG_HW_ID`, `global_atomic_add_x2`}, maxVGPR: 32,
		ptx: []string{`%clock64`, `%globaltimer`, `%smid`},
	},
	// the constant clock, read in a loop that sleeps: not the shader's clock,
	// which changes with power
	"zb_delay": {
		want:   []string{`s_memrealtime`, `s_sleep 8`, `s_cbranch`},
		forbid: []string{`s_memtime`, `global_|flat_|buffer_`}, maxVGPR: 8,
	},
}

// isaMode is how a kernel starts, on which the conversions of number.h rely:
// rounding to nearest even, subnormals kept, signalling NaN made quiet.
var isaMode = map[string]string{
	"float_round_mode_16_64": "0", "float_round_mode_32": "0", "float_denorm_mode_16_64": "3", "float_denorm_mode_32": "3", "ieee_mode": "1",
}

// isaKernel is a kernel's entry in the assembly's metadata.
type isaKernel struct {
	Name       string `yaml:".name"`
	VGPR       int    `yaml:".vgpr_count"`
	AGPR       int    `yaml:".agpr_count"`
	SGPRSpills int    `yaml:".sgpr_spill_count"`
	VGPRSpills int    `yaml:".vgpr_spill_count"`
	LDS        int    `yaml:".group_segment_fixed_size"`
	Private    int    `yaml:".private_segment_fixed_size"`
}

// holdsISA holds the assembly of one source file to the rows of its kernels.
func holdsISA(t *testing.T, target, asm string, names []string) {
	if target == "sm_90" {
		for _, name := range names {
			require.Regexp(t, `\.visible \.entry `+name+`\(`, asm)
			_, body, _ := strings.Cut(asm, ".entry "+name+"(")
			body, _, _ = strings.Cut(body, ".entry ")
			for _, pattern := range isaRows[name].ptx {
				require.Regexp(t, pattern, body, "%s", name)
			}
		}
		require.NotContains(t, asm, ".local", "memory for a thread's own variables")
		return
	}
	for directive, value := range isaMode {
		require.NotRegexp(t, `\.amdhsa_`+directive+` [^`+value+`]`, asm)
	}
	kernels := isaMetadata(t, asm)
	require.Len(t, kernels, len(names), "kernels in the metadata")
	for _, name := range names {
		require.Contains(t, kernels, name)
		for _, fault := range isaFaults(isaRows[name], kernels[name], isaBody(asm, name)) {
			t.Errorf("%s: %s", name, fault)
		}
		require.GreaterOrEqual(t, isaOccupancy(asm, name), isaRows[name].occupancy, "waves a SIMD of %s", name)
	}
}

func isaMetadata(t *testing.T, asm string) map[string]isaKernel {
	_, text, found := strings.Cut(asm, ".amdgpu_metadata\n")
	require.True(t, found, "no metadata")
	text, _, _ = strings.Cut(text, "\t.end_amdgpu_metadata")
	var metadata struct {
		Kernels []isaKernel `yaml:"amdhsa.kernels"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(text), &metadata))
	kernels := map[string]isaKernel{}
	for _, k := range metadata.Kernels {
		kernels[k.Name] = k
	}
	return kernels
}

// isaBody is a function's instructions.
func isaBody(asm, name string) string {
	_, text, _ := strings.Cut(asm, "\n"+name+":")
	text, _, _ = strings.Cut(text, "\n.Lfunc_end")
	return text
}

// isaOccupancy is what the compiler says behind a function.
func isaOccupancy(asm, name string) int {
	_, text, _ := strings.Cut(asm, "\n"+name+":")
	found := regexp.MustCompile(`; Occupancy: (\d+)`).FindStringSubmatch(text)
	if found == nil {
		return 0
	}
	n, _ := strconv.Atoi(found[1])
	return n
}

func isaFaults(row isaRow, k isaKernel, body string) []string {
	var faults []string
	hold := func(ok bool, fault string) {
		if !ok {
			faults = append(faults, fault)
		}
	}
	limit := func(given, otherwise int) int {
		if given > 0 {
			return given
		}
		return otherwise
	}
	hold(strings.Contains(body, "s_endpgm"), "no code")
	hold(k.SGPRSpills == 0 && k.VGPRSpills == 0, "registers are spilled")
	hold(k.Private == 0, "a thread has memory of its own: an array that is not in registers")
	hold(k.LDS <= limit(row.maxLDS, defaultLDS), "more shared memory than allowed")
	// k.VGPR is the sum of both kinds on gfx90a and later
	hold(k.VGPR <= limit(row.maxVGPR, defaultVGPR), "more registers than allowed")
	most := func(limit int, pattern, what string) {
		n := len(regexp.MustCompile(pattern).FindAllString(body, -1))
		hold(limit == 0 || n <= limit, fmt.Sprintf("%d %s, more than %d", n, what, limit))
	}
	most(row.maxVector, `(?m)^\s*v_`, "vector instructions")
	most(row.maxParted, `_saveexec_b64`, "places where lanes part")
	for _, pattern := range row.want {
		hold(regexp.MustCompile(pattern).MatchString(body), "no instruction "+pattern)
	}
	for _, pattern := range row.forbid {
		hold(!regexp.MustCompile(pattern).MatchString(body), "an instruction "+pattern)
	}
	return faults
}

// A row for a kernel that is gone would hold nothing.
func TestISARowsAreOfKernels(t *testing.T) {
	names := map[string]bool{}
	for _, k := range Kernels() {
		names[k.Name] = true
	}
	require.Empty(t, isaOccupancy("", "zb_fill"))
	for name := range isaRows {
		require.True(t, names[name], "%s is no kernel", name)
	}
}

// Each limit and each kind of expression is noticed.
func TestISAFaults(t *testing.T) {
	row := isaRow{want: []string{`v_mfma_f32`}, forbid: []string{flatAccess}, maxVGPR: 64, maxLDS: 1024}
	good := isaKernel{VGPR: 64, LDS: 1024}
	body := "v_mfma_f32_16x16x16_bf16 a[0:3], v[0:1], v[2:3], 0\n\ts_endpgm"
	require.Empty(t, isaFaults(row, good, body))
	require.Equal(t, []string{"registers are spilled"}, isaFaults(row, isaKernel{VGPRSpills: 1}, body))
	require.Equal(t, []string{"registers are spilled"}, isaFaults(row, isaKernel{SGPRSpills: 1}, body))
	require.Len(t, isaFaults(row, isaKernel{Private: 4}, body), 1)
	require.Len(t, isaFaults(row, isaKernel{LDS: 1025}, body), 1)
	require.Len(t, isaFaults(row, isaKernel{VGPR: 65}, body), 1)
	require.Len(t, isaFaults(isaRow{}, isaKernel{VGPR: defaultVGPR + 1}, body), 1)
	require.Len(t, isaFaults(isaRow{}, isaKernel{LDS: defaultLDS + 1}, body), 1)
	require.Equal(t, []string{"no instruction v_mfma_f32"}, isaFaults(row, good, "s_endpgm"))
	require.Equal(t, []string{"an instruction " + flatAccess}, isaFaults(row, good, body+"\n\tflat_load_dword v1"))
	few := isaRow{maxVector: 1, maxParted: 1}
	require.Empty(t, isaFaults(few, good, body))
	require.Equal(t, []string{"2 vector instructions, more than 1"}, isaFaults(few, good, "\tv_add_f32\n\tv_add_f32\n\ts_endpgm"))
	require.Equal(t, []string{"2 places where lanes part, more than 1"}, isaFaults(few, good, "\ts_and_saveexec_b64\n\ts_or_saveexec_b64\n\ts_endpgm"))
	require.Equal(t, []string{"no code"}, isaFaults(isaRow{}, good, ""))
}
