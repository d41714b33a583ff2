package trainer

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// FirstBlocks returns the number of blocks on the ranks of the first pipeline stage; 0 means an
// equal share. Read in NVIDIA/Megatron-LM at d98e8a64: core/transformer/transformer_block.py,
// get_num_layers_to_build, and core/transformer/pipeline_parallel_layer_layout.py.
func (c *Config) FirstBlocks(stages, blocks int) (int, error) {
	layout := cmp.Or(c.said["pipeline_model_parallel_layout"], c.said["model.pipeline_model_parallel_layout"])
	switch {
	case stages < 2:
		return 0, nil
	case c.uneven != "":
		return 0, errors.New(c.uneven)
	case !isUnset(layout):
		return laidOut(layout, stages)
	case c.FirstStage != nil:
		return *c.FirstStage, nil
	case c.lastStage != nil:
		return share(blocks-*c.lastStage, stages-1)
	case c.on("account_for_embedding_in_pipeline_split"):
		all := blocks + 1
		if c.on("account_for_loss_in_pipeline_split") {
			all++
		}
		n, err := share(all, stages)
		return n - 1, err
	case c.on("account_for_loss_in_pipeline_split"):
		return share(blocks+1, stages)
	}
	return 0, nil
}

// share returns an equal share of the blocks.
func share(blocks, stages int) (int, error) {
	if blocks < stages || blocks%stages != 0 {
		return 0, fmt.Errorf("%d blocks do not divide by %d pipeline stages", blocks, stages)
	}
	return blocks / stages, nil
}

// laidOut counts the blocks on the first rank in Megatron's layout. A layout has one letter per
// layer (t is a block) and | between chunks; (…)*3 and t*3 repeat. The chunks are dealt to the
// stages in turn.
func laidOut(layout string, stages int) (int, error) {
	text := strings.NewReplacer(" ", "", ",", "", "\n", "").Replace(layout)
	for strings.Contains(text, "*") {
		at := strings.Index(text, "*")
		from := at - 1
		if from >= 0 && text[from] == ')' {
			from = strings.LastIndex(text[:from], "(")
		}
		end := at + 1
		for end < len(text) && text[end] >= '0' && text[end] <= '9' {
			end++
		}
		times, err := strconv.Atoi(text[at+1 : end])
		if from < 0 || err != nil || times > 1000 || len(text) > 10_000 {
			return 0, fmt.Errorf("pipeline_model_parallel_layout %s is not read", layout)
		}
		text = text[:from] + strings.Repeat(strings.Trim(text[from:at], "()"), times) + text[end:]
	}
	chunks := strings.Split(text, "|")
	if len(chunks)%stages != 0 || strings.Trim(text, "EtmL|") != "" {
		return 0, fmt.Errorf("pipeline_model_parallel_layout %s is not one of %d stages", layout, stages)
	}
	n := 0
	for i := 0; i < len(chunks); i += stages {
		n += strings.Count(chunks[i], "t")
	}
	return n, nil
}
