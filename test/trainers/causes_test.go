package trainers

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

var full = flag.Bool("full", false, "200 planted causes in place of 7, and all recorded steps: as the documents have them")

// cause is what makes the steps of a trainer long, and what --what-if must name.
type cause struct {
	kind, fault, named string
	bucket             string
}

// kinds is how many there are, none included.
const kinds = 7

// decoys are faults that cost next to nothing.
const decoys = "--fault late_gpu:node=0,gpu=1,seconds=1e-7 --fault slow_link:node=1,a=0,b=1,left=0.97"

// planted draws a cause of each kind in turn: where it is and how large.
func planted(i int) cause {
	random := rand.New(rand.NewPCG(40, uint64(i))) //nolint:gosec // a seed of a test
	node, rail, size := random.IntN(2), random.IntN(4), random.Float64()
	c := cause{bucket: "400"}
	switch i % kinds {
	case 0: // a late host matters once a step takes less than its launches: the loopback's hosts run ahead
		c.kind, c.fault = "late node", fmt.Sprintf("late_node:node=%d,seconds=%.2g", node, 1e-2*(1+size))
	case 1:
		c.kind, c.fault = "slow rail", fmt.Sprintf("slow_rail:node=%d,rail=%d,left=%.2f", node, rail, 0.2+0.4*size)
	case 2:
		c.kind, c.fault = "flaky link", fmt.Sprintf("flaky_link:node=%d,part=%.2f,times=%.1f", node, 0.5+0.5*size, 2+2*random.Float64())
	case 3:
		c.kind, c.fault = "slow node", fmt.Sprintf("slow_node:node=%d,left=%.2f", node, 0.2+0.4*size)
	case 4:
		c.kind, c.named, c.bucket = "small buckets", "bucket ", "1"
	case 5:
		c.kind, c.fault = "contention", fmt.Sprintf("contention:part=%.2f,times=%.1f,launches=%d", 0.5+0.4*size, 2+2*random.Float64(), 2+random.IntN(3))
	default:
		c.kind = "none"
	}
	if c.fault != "" {
		c.named = "no " + c.fault
	}
	return c
}

// --what-if names the planted cause among decoys, and none where none was planted. The full experiment takes an hour.
func TestCauses(t *testing.T) {
	n, layers, steps := kinds, "1", "12"
	if *full {
		n, layers, steps = 200, "4", "22"
	}
	in := enter(t, "")
	var (
		lock   sync.Mutex
		wrong  []string
		counts = map[string][2]int{}
	)
	t.Run("all", func(t *testing.T) {
		for i := range n {
			c := planted(i)
			t.Run(fmt.Sprint(i, " ", c.kind), func(t *testing.T) {
				t.Parallel()
				flags := fmt.Sprintf("--nodes 2 --gpus-per-node 4 --sizes --seed %d %s --what-if all", i, decoys)
				if c.fault != "" {
					flags += " --fault " + c.fault
				}
				cmd := in.zbench(flags, "llama.py", "ddp", layers, "1024", c.bucket, steps)
				require.NoError(t, cmd.Run(), "%s", cmd.Stdout)
				lines := strings.Split(strings.TrimSpace(fmt.Sprint(cmd.Stdout)), "\n")
				last := lines[len(lines)-1]
				right := strings.HasPrefix(last, "The largest cause: with '"+c.named) && c.named != "" || c.named == "" && strings.HasPrefix(last, "None of these")
				lock.Lock()
				defer lock.Unlock()
				count := counts[c.kind]
				count[1]++
				if right {
					count[0]++
				} else {
					wrong = append(wrong, fmt.Sprintf("%d, %s %s: %s", i, c.kind, c.fault, last))
				}
				counts[c.kind] = count
			})
		}
	})
	t.Logf("%v", counts)
	require.LessOrEqual(t, len(wrong), n/20, "%s", strings.Join(wrong, "\n"))
	require.Equal(t, counts["none"][1], counts["none"][0], "a cause is named where none was planted: %s", strings.Join(wrong, "\n"))
}
