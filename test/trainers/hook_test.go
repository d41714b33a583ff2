package trainers

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	models "zbench/bench/job/trainer"
)

// The hook prints PyTorch's own parameters: the list has their elements, their order and their type.
func TestHookOfPyTorch(t *testing.T) {
	const before = `
import torch
model = torch.nn.Sequential(torch.nn.Embedding(50, 8), torch.nn.Linear(8, 3), torch.nn.BatchNorm1d(3), torch.nn.Bilinear(2, 3, 4)).to(torch.bfloat16)
model[2].weight.requires_grad_(False)
model[3].weight.allreduce = False
`
	run := func(text string) string {
		cmd := exec.CommandContext(t.Context(), "chroot", chroot(t), "python3", "-W", "ignore", "-")
		var errs bytes.Buffer
		cmd.Stdin, cmd.Stderr = strings.NewReader(before+text), &errs
		out, err := cmd.Output()
		require.NoError(t, err, errs.String())
		lines := slices.Collect(strings.Lines(string(out)))
		return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return strings.Contains(l, "UCX") }), "") // Debian's MPI warns on standard output
	}
	m, err := models.ReadModel("params.csv", strings.NewReader(run(models.Hook)), nil)
	require.NoError(t, err)
	want, err := models.ReadModel("plain.csv", strings.NewReader(run("for n, p in model.named_parameters(): print(n, p.numel(), p.requires_grad, sep=',')\n")), nil)
	require.NoError(t, err)
	require.Len(t, m.Params, 7)
	for i, p := range m.Params {
		require.Equal(t, want.Params[i].Name, p.Name)
		require.Equal(t, want.Params[i].Elements, p.Elements)
		require.Equal(t, want.Params[i].Frozen, p.Frozen)
		require.Equal(t, p.Name == "3.weight", p.Expert, p.Name)
	}
	require.Equal(t, []string{"bfloat16"}, m.Dtypes)
}
