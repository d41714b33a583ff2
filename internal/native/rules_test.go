package native_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/internal/native"
)

// ruleProgram is a program whose exit code tells whether the loopback keeps its rules.
type ruleProgram struct {
	path   string
	args   []string
	env    []string
	broken map[int]bool // which rules it breaks
}

// run says whether the program passes with one rule turned off.
func (p *ruleProgram) run(t *testing.T, off string) (bool, error) {
	limit := 5 * time.Second // what takes longer has noticed it, too: it waits for ever
	if off == "" {
		limit = 5 * time.Minute
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.path, p.args...) //nolint:gosec // the test built it
	cmd.WaitDelay = time.Second                        // a child of its own may have its output
	cmd.Env = append(os.Environ(), p.env...)
	cmd.Env = append(cmd.Env, "RULE_OFF="+off)
	if off == "" {
		cmd.Env = append(cmd.Env, "RULES_BROKEN="+p.path+".broken", "RULE_OFF=-1")
	}
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) || err != nil && off == "" {
		return false, fmt.Errorf("%s: %w: %s", p.path, err, out)
	}
	return err == nil, nil
}

// look reads which rules the program has broken.
func (p *ruleProgram) look(t *testing.T) {
	p.broken = map[int]bool{}
	text, err := os.ReadFile(p.path + ".broken")
	require.NoError(t, err)
	for line := range strings.FieldsSeq(string(text)) {
		n, err := strconv.Atoi(line)
		require.NoError(t, err)
		p.broken[n] = true
	}
}

// Whatever the loopback refuses is refused by a rule that a test breaks: with any one of
// them turned off a program sees it.
func TestToolchainEveryRuleIsTested(t *testing.T) {
	native.Toolchain(t)
	dir := t.TempDir()
	rules := plantRules(t, dir)
	require.Greater(t, len(rules), 200)
	programs := rulePrograms(t, dir)
	for _, p := range programs {
		kept, err := p.run(t, "")
		require.NoError(t, err)
		require.True(t, kept, p.path)
		p.look(t)
	}
	seen, kept := make([]bool, len(rules)), make([]bool, len(rules))
	failed := make([]error, len(rules))
	var all sync.WaitGroup
	places := make(chan struct{}, 4) // without its rule a program often waits for ever
	for n := range rules {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			kept[n] = true
			for _, p := range programs {
				if seen[n] = seen[n] || p.broken[n]; p.broken[n] && kept[n] && failed[n] == nil {
					kept[n], failed[n] = p.run(t, strconv.Itoa(n))
				}
			}
		})
	}
	all.Wait()
	require.NoError(t, errors.Join(failed...))
	unheld := map[string]bool{}
	for n, r := range rules {
		key := r.function + ": " + r.text
		switch {
		case kept[n] && elsewhere[key] != "":
			unheld[key] = true
		case !seen[n]:
			t.Errorf("no program breaks %v", r)
		case kept[n]:
			t.Errorf("no program notices that it is off: %v", r)
		}
	}
	for key := range elsewhere {
		require.True(t, unheld[key], "it is held now, or is not there: take it off the list: %s", key)
	}
}

const (
	noMemory   = "the host has no memory for a few bytes"
	lost       = "a process is lost, or a fault is planted: share_process_test.go, kernels_faults_test.go and driver_ends_test.go have them"
	cudaAlone  = "CUDA's form of the libraries: the programs here are HIP's"
	wouldHang  = "one process that drives all ranks, by another program's interface: that is refused before"
	refusedToo = "another rule that is held refuses the same"
	twoOfThem  = "it takes two processes: client_test.c has them"
)

// elsewhere are the rules that none of these programs can break, and why.
var elsewhere = map[string]string{
	"zbl_functionAttribute: ZB_ERR_HANDLE":       cudaAlone,
	"zbl_functionAttribute: ZB_ERR_VALUE":        cudaAlone,
	"zbl_join_capture: ZB_ERR_CAPTURE_ISOLATION": cudaAlone,
	"zbl_check_arguments: (dtype >= ZBL_FIRST_FP8 && zbl_shapes[call->collective].reduces && !zbl_reduces_fp8())": cudaAlone,

	"zbl_collective_call: ZB_COLL_UNHANDLED":     noMemory,
	"zbl_p2p_call: ZB_COLL_UNHANDLED":            noMemory,
	"zbl_join_rank: ZB_COLL_UNHANDLED":           noMemory,
	"zbl_launch_all_messages: ZB_COLL_UNHANDLED": noMemory,
	"zbl_opCreate: ZB_COLL_UNHANDLED":            noMemory,
	"zbl_split_rank: ZB_COLL_UNHANDLED":          noMemory,
	"zbl_registers: ZB_COLL_UNHANDLED":           noMemory,
	"zbl_put_copied: ZB_ERR_MEMORY":              noMemory,
	"zbl_moduleLoad: ZB_ERR_MEMORY":              noMemory,
	"zbl_moduleFunction: ZB_ERR_MEMORY":          noMemory,
	"zbl_load_own: ZB_ERR_MEMORY":                noMemory,
	"zbl_ipcGet: ZB_ERR_MEMORY":                  noMemory,
	"zbl_place_of: ZB_ERR_MEMORY":                noMemory,
	"zbl_map_block: ZB_ERR_MEMORY":               noMemory,
	"zbl_kernel_put: ZB_ERR_MEMORY":              noMemory,
	"zbl_host_put: ZB_ERR_MEMORY":                noMemory,
	"zbl_launch_version: ZB_ERR_MEMORY":          noMemory,
	"zbl_hostRegister: ZB_ERR_MEMORY":            noMemory,
	"zbl_call_put: ZB_ERR_MEMORY":                noMemory,
	"zbl_streamWaitEvent: ZB_ERR_MEMORY":         noMemory,

	"zbl_round_run: ZB_COLL_REMOTE":       lost,
	"zbl_failed: ZB_COLL_REMOTE":          lost,
	"zbl_wait_for_peers: async != 0":      lost,
	"zbl_wait_for_peers: zbl.hub->broken": lost,
	"zbl_wait_for_peers: ZB_COLL_REMOTE":  lost,
	"zbl_lose: ZB_COLL_REMOTE":            lost,
	"zbl_kernel_run: ZB_ERR_LAUNCH":       lost,

	"zbl_wait_for_device: ZB_ERR_NOT_READY":   wouldHang,
	"zbl_copyWithStream: ZB_ERR_NOT_READY":    wouldHang,
	"zbl_freeAsync: ZB_ERR_NOT_READY":         wouldHang,
	"zbl_streamSynchronize: ZB_ERR_NOT_READY": wouldHang,

	"zbl_replay_calls: zbl_comm_of(calls->comm) == NULL": refusedToo,
	"zbl_symbol_part: end > all":                         refusedToo,
	"zbl_ipcOpen: e->bytes != h.bytes":                   refusedToo,
	"zbl_ipcOpen: h.offset >= h.bytes":                   refusedToo,

	"zbl_freeDevice: block->opened":     twoOfThem,
	"zbl_ipcGet: b->opened":             twoOfThem,
	"zbl_commInitAll: comms == NULL":    refusedToo,
	"zbl_copyWithStream: code != ZB_OK": refusedToo,
}

// rulePrograms builds the programs that hold the loopback to its rules, from a copy of the
// sources.
func rulePrograms(t *testing.T, dir string) []*ruleProgram {
	kernels := filepath.Join(dir, "kernels.o")
	compileKernels(t, kernels)
	build := func(program string, sources ...string) string {
		program = filepath.Join(dir, program)
		native.Compile(t, dir, "cc", slices.Concat([]string{"-std=c11", "-D_GNU_SOURCE", "-O0", "-g", "-w", "-include", "testdata/rules/rule.h", "-o", program},
			sources, []string{"-ldl", "-lm", "-lpthread"})...)
		return program
	}
	compile(t, "-shared", "-fPIC", "-o", filepath.Join(dir, "kernels.so"), "testdata/client_kernels.c")
	together, _ := clientMachines(t, dir)
	shared := []string{"-DZB_NAMES=0", "-DFORWARD_COLLECTIVES=1", "c/shared/runtime.c", "c/shared/forward.c", "testdata/no_kernels.c"}
	env := []string{
		"ZBENCH_LOOPBACK=" + together, "ZBENCH_LOOPBACK_KERNELS=" + filepath.Join(dir, "kernels.so"),
		"ROCR_VISIBLE_DEVICES=", "HIP_VISIBLE_DEVICES=", "CUDA_VISIBLE_DEVICES=",
	}
	return []*ruleProgram{
		{path: build("misuse", append(shared, "testdata/misuse_test.c")...), env: env},
		{path: build("older", append(shared, "testdata/misuse_test.c")...), args: []string{"older"}, env: append(slices.Clone(env), "ZBENCH_LOOPBACK="+machineOf(t, together, "22203"))},
		{path: build("newest", append(shared, "testdata/misuse_test.c")...), args: []string{"newest"}, env: append(slices.Clone(env), "ZBENCH_LOOPBACK="+machineOf(t, together, "23102"))},
		{path: build("fake", "testdata/fake_test.c", kernels)},
		{path: build("client", append(shared, "testdata/client_test.c")...), args: []string{"one"}, env: env},
		{path: build("no_world", "testdata/no_world.c", "testdata/no_kernels.c"), env: []string{"ZBENCH_LOOPBACK="}},
	}
}
