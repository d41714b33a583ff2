package trainer

import (
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a name tells is what two patterns find in it, of every preset's tensors and of
// names put together from parts at random.
func TestNamesTellWhatPatternsFind(t *testing.T) {
	experts := regexp.MustCompile(`(^|\.)(local_experts|experts)\.`)
	blocks := regexp.MustCompile(`(?:^|\.)(?:layers|h|blocks|block|layer|encoder|decoder)\.(\d{1,6})(?:\.|$)`)
	found := map[bool]int{}
	check := func(name string) {
		block := 0
		if m := blocks.FindStringSubmatch(name); m != nil {
			n, err := strconv.Atoi(m[1])
			require.NoError(t, err)
			block = n + 1
		}
		p := named(name, 1, nil)
		require.Equal(t, block, p.Block, name)
		require.Equal(t, experts.MatchString(name), p.Expert, name)
		found[p.Expert && p.Block > 0]++
	}
	for _, preset := range PresetNames() {
		m, err := Preset(preset)
		require.NoError(t, err)
		for _, p := range m.Params {
			check(p.Name)
		}
	}
	parts := []string{"layers", "h", "block", "decoder", "experts", "local_experts", "shared_experts", "0", "7", "123456", "1234567", "-1", "1a", "", "w", "layers "}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		name := make([]string, 1+random.IntN(7))
		for i := range name {
			name[i] = parts[random.IntN(len(parts))]
		}
		check(strings.Join(name, "."))
	}
	require.Positive(t, found[true])
	require.Positive(t, found[false])
}
