package trainers

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/unit"
)

const (
	pytorchExamples = "pytorch/examples 77f55b912142e11fcfdf5b530231fb9c52f181e8"
	// Its later versions need a newer PyTorch than 2.6.
	firstFSDP2     = "pytorch/examples 70922969e70218458d2a945bf86fd8cc967fc6ea"
	mlEngineering  = "stas00/ml-engineering 744d01e18b79512572f64a6bbd8b5f4a725203a7"
	allReduceBench = "all_reduce_bench.py"
	llmC           = "karpathy/llm.c f1e2ace651495b74ae22d45d1723443fd00ecd3a"
	nanoGPT        = "karpathy/nanoGPT 3adf61e154c3fe3fca428ad6bc3818b27a3b8291"
)

// public are programs that nobody here wrote, unmodified, which need nothing beyond PyTorch and numpy.
var public = []struct {
	from, folder, words string
	// WORLD in words is the number of ranks, TOKENS 256 for each; most is the largest number of nodes that the program itself
	// allows, code its exit code.
	most, code int
	// own reads from its output the time of a step in milliseconds, where it prints one.
	own string
}{
	{pytorchExamples, "distributed/ddp", "example.py", 128, 0, ""},
	{pytorchExamples, "distributed/tensor_parallelism", "tensor_parallel_example.py", 1, 0, ""},
	{pytorchExamples, "distributed/tensor_parallelism", "sequence_parallel_example.py", 1, 0, ""},
	{pytorchExamples, "distributed/tensor_parallelism", "fsdp_tp_example.py", 8, 0, ""},
	{firstFSDP2, "distributed/FSDP2", "train.py", 8, 0, ""},
	{pytorchExamples, "distributed/ddp-tutorial-series", "multigpu.py 3 10", 1, 0, ""},
	{pytorchExamples, "distributed/ddp-tutorial-series", "multigpu_torchrun.py 3 10", 128, 0, ""},
	{pytorchExamples, "distributed/ddp-tutorial-series", "multinode.py 3 10", 128, 0, ""},
	{pytorchExamples, "distributed/ddp-tutorial-series", "single_gpu.py 3 10", 128, 6, ""},
	{mlEngineering, "network/benchmarks", allReduceBench + " --payload_size_in_gib 1", 128, 0, ""},
	{mlEngineering, "network/benchmarks", "all_reduce_latency_comp.py", 128, 0, ""},
	{mlEngineering, "debug", "torch-distributed-gpu-test.py", 128, 0, ""},
	{nanoGPT, ".", "train.py config/train_shakespeare_char.py --eval_iters=1 --log_interval=1 --gradient_accumulation_steps=WORLD --max_iters=6", 128, 0, `iter 3: .* time ([\d.]+)ms`},
	{llmC, ".", "train_gpt2.py --model d12 --batch_size 4 --sequence_length 64 --total_batch_size TOKENS --dtype bfloat16 --write_tensors 0", 128, 0, `step +3/.*\(([\d.]+) ms`},
}

// checkout writes a folder of a repository at its commit: of ZBENCH_PROGRAMS (OWNER+NAME/repo, git directories), or
// of GitHub. Nothing of it is committed here.
func checkout(t *testing.T, from, folder, to string) {
	t.Helper()
	name, commit, _ := strings.Cut(from, " ")
	require.NoError(t, os.MkdirAll(to, 0o755)) //nolint:gosec // the chroot reads it
	git := func(args ...string) ([]byte, error) {
		cmd := exec.Command("git", args...) //nolint:gosec // the test's own words
		cmd.Dir, cmd.Env = to, append(os.Environ(), "GIT_INDEX_FILE="+filepath.Join(to, ".index"), "GIT_TERMINAL_PROMPT=0")
		return cmd.CombinedOutput()
	}
	source := filepath.Join(os.Getenv("ZBENCH_PROGRAMS"), strings.Replace(name, "/", "+", 1), "repo")
	if os.Getenv("ZBENCH_PROGRAMS") == "" {
		source = filepath.Join(to, ".git")
		_, err := git("init", "-q")
		require.NoError(t, err)
		if out, err := git("fetch", "-q", "--depth", "1", "https://github.com/"+name, commit); err != nil {
			t.Skipf("%s cannot be fetched: set ZBENCH_PROGRAMS to a folder with OWNER+NAME/repo: %s", name, out)
		}
	}
	out, err := git("--git-dir="+source, "--work-tree="+to, "checkout", "-q", commit, "--", folder)
	require.NoError(t, err, "%s", out)
}

// supplied writes the data that a program reads: tokens, all 0. Of tiktoken llm.c only imports the name.
func supplied(t *testing.T, from, folder string) {
	t.Helper()
	tokens := make([]byte, 4*256+2<<20) // behind llm.c's header
	for i, word := range []uint32{20240520, 1, 1 << 20} {
		binary.LittleEndian.PutUint32(tokens[4*i:], word)
	}
	for name, text := range map[string]map[string][]byte{
		nanoGPT: {"data/shakespeare_char/train.bin": tokens[4*256:], "data/shakespeare_char/val.bin": tokens[4*256:]},
		llmC:    {"dev/data/tinyshakespeare/tiny_shakespeare_val.bin": tokens, "tiktoken.py": []byte("def get_encoding(name): pass\n")},
	}[from] {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755)) //nolint:gosec // Python reads it
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), text, 0o644))        //nolint:gosec // Python reads it
	}
}

// Public programs run unmodified, or end with the line that says that they did nothing.
func TestPublicPrograms(t *testing.T) {
	in := enter(t, "")
	for _, p := range public {
		name := strings.Fields(p.words)[0]
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(in.at, strings.Fields(strings.ReplaceAll(p.from, "/", "+"))[0])
			checkout(t, p.from, p.folder, in.root+folder)
			supplied(t, p.from, in.root+folder)
			for _, nodes := range slices.Compact([]int{1, p.most}) {
				words := strings.NewReplacer("WORLD", strconv.Itoa(8*nodes), "TOKENS", strconv.Itoa(8*nodes*256)).Replace(p.words)
				// Their modules lie beside them, and they write there.
				out, code := in.started(t, "--sizes --steps 5 --nodes "+strconv.Itoa(nodes), []string{"-C", filepath.Join(folder, p.folder)}, strings.Fields(words)...)
				require.Equal(t, p.code, code, out)
				require.Regexp(t, map[int]string{0: `SIMULATED on \d+ ranks: `, 6: "NO RESULT: "}[p.code], out)
				if p.own != "" {
					own, theirs := regexp.MustCompile(p.own).FindStringSubmatch(out), summary.FindStringSubmatch(out)
					require.NotNil(t, own, out)
					near(t, number(t, own[1]), number(t, theirs[1]), 0.01)
				}
			}
		})
	}
}

// All sizes of a public benchmark, 32 KiB to 16 GiB, take what zbench times on the same fabric.
func TestAPublicCurve(t *testing.T) {
	in := enter(t, "")
	folder := filepath.Join(in.at, "bench")
	checkout(t, mlEngineering, "network/benchmarks", in.root+folder)
	for _, nodes := range []int{1, 8} {
		world := " --fault noise:sigma=0 --nodes " + strconv.Itoa(nodes)
		out, code := in.started(t, "--sizes"+world, []string{"-C", filepath.Join(folder, "network/benchmarks")}, allReduceBench)
		require.Zero(t, code, out)
		alone, ranks := isolated(t, "-b 32K -e 16G -f 2"+world), float64(8*nodes)
		rows := regexp.MustCompile(`\| +(\d+[KMG]iB) \| +([\d.]+)GBps`).FindAllStringSubmatch(out, -1)
		require.Len(t, rows, len(alone))
		for _, row := range rows {
			bytes, err := unit.ParseBytes(row[1])
			require.NoError(t, err)
			busbw := 1e-9 * float64(bytes) / alone[strconv.FormatInt(bytes, 10)] * 2 * (ranks - 1) / ranks
			require.InDelta(t, busbw, number(t, row[2]), 0.005*busbw+0.005, "%s: it prints two decimals of GB/s", row[1])
		}
	}
}
