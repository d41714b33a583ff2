package buckettest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What contradicts its rows is found; what agrees is not.
func TestContradictions(t *testing.T) {
	const rows = "\n  0.125 MiB    65.5 k  226  +0 %  within 1 % begins\n  25 MiB  13.1 M  162  1 GiB  226 ms  +0.3 %  keep this, default\n  841 MiB  441 M  16  +6.7 %\n"
	const tokens = "\n  4,096  636 ms  635 ms  81 MiB  +1.2 %  set\n  8,192  1.26 s  1.26 s  25 MiB  +0.1 %  keep\n"
	for text, wrong := range map[string]bool{
		"Keep x at its default, 25 MiB: a training step is 0.3 % longer than with the best size." + rows: false,
		"Keep x at its default, 25 MiB: a training step is 0.4 % longer than with the best size." + rows: true,
		"Keep x at its default, 25 MiB: a training step is as short as with the best size." + rows:       true,
		"A training step is 0.4 % longer with the default, 25 MiB." + rows:                               true,
		"As good within 1 %: up to 1249 MiB." + rows:                                                     true,
		"As good within 1 %: 1 MiB to 100 MiB." + rows:                                                   false,
		"1 G elements) and more":     true,
		"Set it (1 G elements) now.": false,
		"Below about 5,000 tokens per microbatch on a GPU set x to 1 MiB. Above it keep the default, 25 MiB, which costs at most 1 %." + tokens:    false,
		"Below about 3,000 tokens per microbatch on a GPU set x to 1 MiB. Above it keep the default, 25 MiB, which costs at most 1 %." + tokens:    true,
		"Below about 10,000 tokens per microbatch on a GPU set x to 1 MiB." + tokens:                                                               true,
		"Below about 5,000 tokens per microbatch on a GPU set x to 1 MiB. Above it keep the default, 25 MiB, which costs at most 0.05 %." + tokens: true,
		`{"sentence": "Below about 5,000 tokens per microbatch", "answer": {"rule": {"points": [{"amount": 9000, "costs": 0.03}]}}}`:               true,
		`{"sentence": "Below about 5,000 tokens per microbatch", "answer": {"verdict": "rule", "elements": 5}}`:                                    true,
	} {
		require.Equal(t, wrong, len(Contradictions(text)) > 0, "%s: %v", text, Contradictions(text))
	}
}
