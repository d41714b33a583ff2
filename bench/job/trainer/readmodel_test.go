package trainer_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/job/trainer"
)

type trainerParam = trainer.Param

func read(text string) (*trainer.Model, error) {
	return trainer.ReadModel("p", strings.NewReader(text), nil)
}

func TestReadText(t *testing.T) {
	shapes := map[string][2][]int64{
		"shapes": {{2, 3}, nil}, "columns": {{2, 3}, {2}}, "torch": {{2, 3}, {2}}, "both": {{2, 3}, nil}, "two": {{2, 3}, {2, 1}},
		"list": {{2, 3}, nil}, "object": {nil, {2}}, "entries": {nil, {2, 1}},
	}
	for name, text := range map[string]string{
		"csv":         "w,6\nb,2\n",
		"two":         "name,elements,shape\nw,6,2x3\nb,2,2x1\n",
		"shapes":      "# a comment\nw, 2x3\nb,2\n",
		"header":      "Name,numel\nw,6\nb,2\n",
		"columns":     "shape,name\n\"[2, 3]\",w\n\"(2,)\",b\n",
		"torch":       "name,shape\nw,\"torch.Size([2, 3])\"\nb,torch.Size([2])\n",
		"both":        "name,elements,shape\nw,,2x3\nb,2,\n",
		"mark":        "\ufeffw,6\r\nb,2\r\n",
		"underscores": "w,0_6\nb,2\n",
		"list":        `[{"name":"w","shape":[2,3]},{"name":"b","numel":2}]`,
		"object":      `{"w": 6, "b": [2]}`,
		"entries":     "{\"w\": {\"elements\": 6},\n \"b\": {\"shape\": [2,1]}}",
	} {
		m, err := read(text)
		require.NoError(t, err, name)
		require.Equal(t, []trainer.Param{{Name: "w", Elements: 6, Shape: shapes[name][0]}, {Name: "b", Elements: 2, Shape: shapes[name][1]}}, m.Params, name)
		require.Equal(t, int64(8), m.ActiveParams)
		require.Empty(t, m.Notes)
	}
}

func TestNamesTellExpertsAndBlocks(t *testing.T) {
	m, err := read("model.layers.3.mlp.experts.7.up_proj.weight,5\nmodel.layers.3.mlp.shared_experts.up_proj.weight,5\n" +
		"decoder.layers.0.mlp.experts.local_experts.0.linear_fc1.weight,5\nh.11.attn.c_attn.weight,5\nwte.weight,5\n")
	require.NoError(t, err)
	want := []struct {
		expert bool
		block  int
	}{{true, 4}, {false, 4}, {true, 1}, {false, 12}, {false, 0}}
	for i, w := range want {
		require.Equal(t, w.expert, m.Params[i].Expert, m.Params[i].Name)
		require.Equal(t, w.block, m.Params[i].Block, m.Params[i].Name)
	}
	m, err = read("name,elements,expert\na.experts.0,5,false\nb,5,true\n")
	require.NoError(t, err)
	require.False(t, m.Params[0].Expert)
	require.True(t, m.Params[1].Expert)
}

func TestReadErrorsNameTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "is empty",
		" \n":                                    "is empty",
		"w,6\nb,many\n":                          `p line 2: "many" is not a number of elements or a shape`,
		"w,6\n\n# x\nw,2\n":                      `p line 4: "w" was listed at p line 1 already`,
		"w,6\nb,0\n":                             "p line 2",
		"w,6\nb,-3\n":                            "p line 2",
		"w,6\nb\n":                               "p line 2: 1 fields",
		"w,4096,1024\n":                          "write name,elements or name,shape",
		"w,\"6\nb,2\n":                           "line",
		"name,bytes\nw,6\n":                      "neither elements nor shape",
		",6\n":                                   "a tensor without a name",
		"name,elements,expert\nw,6,often":        "expert is \"often\"",
		"name,elements,shape\nw,6,2x4\n":         "p line 2: 6 elements and a shape of 8 contradict each other",
		`[{"name":"w","numel":6,"shape":[2,4]}]`: "contradict each other",
		"w,9007199254740993\n":                   "more than 9007199254740992 elements",
		"w,99999999x99999999x99999999\n":         "more than 9007199254740992 elements",
		"w,9007199254740990\nb,9\n":              "p line 2: more than",
		"w,99999999999999999999\n":               "not a number",
		"# nothing\n":                            "no tensors",
		"{}":                                     "no tensors",
		"[]":                                     "no tensors",
		"[{\"name\":\"w\"}]":                     "without elements, numel or shape",
		"[{\"name\":\"w\",\n\"numel\":6},\n{\"name\":\"w\",\"numel\":6}]": "p line 3: \"w\" was listed at p line 2",
		"[{\"name\":\"w\",\"numel\":6}":                                   "the file ends in the middle",
		"{\"w\":6} x":                                                     "more follows",
		"{\"w\":\"six\"}":                                                 "p line 1",
		"{\n\"w\":6.5}":                                                   "p line 2",
		"[{\"name\":5,\"numel\":6}]":                                      "p line 1",
		"{\"w\":[2,0]}":                                                   "has 0 elements",
		"{\"weight_map\":{\"w\":\"s\"}}":                                  "p has names but no shapes",
	} {
		_, err := read(text)
		require.ErrorIs(t, err, trainer.ErrParams, text)
		require.ErrorContains(t, err, want, text)
	}
}

// safe makes a safetensors file: length, header, and some data that are not read.
func safe(header string) []byte {
	var b bytes.Buffer
	_ = binary.Write(&b, binary.LittleEndian, uint64(len(header)))
	b.WriteString(header + "datadata")
	return b.Bytes()
}

const shardA = `{"__metadata__":{"format":"pt"},"lm_head.weight":{"dtype":"BF16","shape":[8,4],"data_offsets":[0,64]},
"model.layers.10.self_attn.o_proj.weight":{"dtype":"BF16","shape":[4,4],"data_offsets":[64,96]},
"model.layers.2.mlp.down_proj.weight":{"dtype":"BF16","shape":[4,9],"data_offsets":[96,168]},
"model.layers.2.mlp.up_proj.weight":{"dtype":"BF16","shape":[9,4],"data_offsets":[96,168]},
"model.layers.2.post_attention_layernorm.weight":{"dtype":"BF16","shape":[4],"data_offsets":[96,168]}}`

const shardB = `{"model.layers.2.input_layernorm.weight":{"dtype":"BF16","shape":[4],"data_offsets":[0,8]},
"model.layers.2.self_attn.q_proj.weight":{"dtype":"BF16","shape":[4,4],"data_offsets":[0,8]},
"model.norm.weight":{"dtype":"BF16","shape":[4],"data_offsets":[0,8]},
"model.embed_tokens.weight":{"dtype":"BF16","shape":[8,4],"data_offsets":[0,8]}}`

func names(m *trainer.Model) (out []string) {
	for _, p := range m.Params {
		out = append(out, strings.TrimPrefix(strings.TrimSuffix(p.Name, ".weight"), "model."))
	}
	return out
}

func TestSafetensors(t *testing.T) {
	m, err := trainer.ReadModel("a.safetensors", bytes.NewReader(safe(shardA)), nil)
	require.NoError(t, err)
	require.Equal(t, int64(32+16+36+36+4), m.Total())
	require.Equal(t, []string{
		"layers.2.post_attention_layernorm", "layers.2.mlp.up_proj", "layers.2.mlp.down_proj", "layers.10.self_attn.o_proj", "lm_head",
	}, names(m))
	require.Contains(t, m.Notes[0], "guessed from their names")
}

func TestSafetensorsIndex(t *testing.T) {
	index := `{"metadata":{"total_size":1},"weight_map":{"x":"a.safetensors","y":"b.safetensors","z":"a.safetensors"}}`
	files := map[string][]byte{"a.safetensors": safe(shardA), "b.safetensors": safe(shardB)}
	opened := 0
	open := func(name string) (io.ReadCloser, error) {
		opened++
		text, ok := files[name]
		if !ok {
			return nil, errors.New("no such file")
		}
		return io.NopCloser(bytes.NewReader(text)), nil
	}
	m, err := trainer.ReadModel("model.safetensors.index.json", strings.NewReader(index), open)
	require.NoError(t, err)
	require.Equal(t, 2, opened, "each file once")
	require.Equal(t, []string{
		"embed_tokens", "layers.2.input_layernorm", "layers.2.self_attn.q_proj", "layers.2.post_attention_layernorm",
		"layers.2.mlp.up_proj", "layers.2.mlp.down_proj", "layers.10.self_attn.o_proj", "norm", "lm_head",
	}, names(m))

	delete(files, "b.safetensors")
	_, err = trainer.ReadModel("i.json", strings.NewReader(index), open)
	require.ErrorContains(t, err, `i.json has names but no shapes, and "b.safetensors" beside it cannot be read: no such file`)
	files["b.safetensors"] = []byte("no header")
	_, err = trainer.ReadModel("i.json", strings.NewReader(index), open)
	require.ErrorContains(t, err, "is not a safetensors file")
	_, err = trainer.ReadModel("i.json", strings.NewReader(`{"weight_map":{"x":"../../etc/passwd"}}`), open)
	require.ErrorContains(t, err, "names a file elsewhere")
}

func TestSafetensorsDamaged(t *testing.T) {
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"cut":         {safe(shardA)[:40], "ends within its header"},
		"no shape":    {safe(`{"w":{"dtype":"F32"}}`), "has no shape"},
		"not json":    {safe(`{"w":`), "header"},
		"no tensors":  {safe(`{"__metadata__":{}}`), "no tensors"},
		"zero":        {safe(`{"w":{"shape":[0]}}`), "has 0 elements"},
		"long header": {append([]byte{255, 255, 255, 255, 255, 0, 0, 0}, '{'), "p"},
	} {
		_, err := trainer.ReadModel("p", bytes.NewReader(c.file), nil)
		require.ErrorIs(t, err, trainer.ErrParams, name)
		require.ErrorContains(t, err, c.want, name)
	}
}

// A frozen tensor has no gradient, and spares half of its backward; all of it before the
// first that is trained.
func TestRequiresGrad(t *testing.T) {
	for name, text := range map[string]string{
		"plain.csv":  "embed_tokens.weight,100x4,False\nlayers.0.w,10x10,False\nlayers.0.lora,5x4,True\nlayers.1.w,10x10,False\n",
		"header.csv": "name,shape,requires_grad\nembed_tokens.weight,100x4,false\nlayers.0.w,10x10,false\nlayers.0.lora,5x4,\nlayers.1.w,10x10,0\n",
		"list.json":  `[{"name": "embed_tokens.weight", "shape": [100, 4], "requires_grad": false}, {"name": "layers.0.w", "numel": 100, "requires_grad": false}, {"name": "layers.0.lora", "numel": 20, "requires_grad": true}, {"name": "layers.1.w", "numel": 100, "requires_grad": false}]`,
	} {
		m, err := trainer.ReadModel(name, strings.NewReader(text), nil)
		require.NoError(t, err, name)
		require.Equal(t, int64(20), m.Total(), name)
		require.Equal(t, int64(220), m.ActiveParams, name)
		require.InDelta(t, 1-float64(20+50)/220, m.Spared(), 1e-12, name)
		require.Contains(t, strings.Join(m.Notes, "\n"), "3 tensors of 600 elements are frozen", name)
		require.NoError(t, m.Check())
		c, err := trainer.Load{Tokens: 10, ActiveParams: 220, Flops: 1e3, Spared: m.Spared()}.Estimate()
		require.NoError(t, err)
		require.InDelta(t, 4*10*70/1e3, c.Backward, 1e-9)
	}
	for text, want := range map[string]string{
		"a,10,False\nb,10,False\n": "so nothing is trained",
		"a,10,maybe\n":             "requires_grad is",
	} {
		_, err := trainer.ReadModel("p.csv", strings.NewReader(text), nil)
		require.ErrorIs(t, err, trainer.ErrParams)
		require.ErrorContains(t, err, want)
	}
}
