package recommend

import (
	"fmt"
	"testing"
	"time"
)

func TestTryRule(t *testing.T) {
	for _, q := range []Question{{
		Curves:  []Curve{curve(t, "reduce_scatter", 1024, doubling(16<<10, 8<<30), func(s float64) float64 { return 180e-6 + s/338e9 + 1e-7*s/1e6 }), curve(t, "all_gather", 1024, doubling(16<<10, 8<<30), func(s float64) float64 { return 180e-6 + s/338e9 })},
		Trainer: "megatron", Params: llama(),
	}} {
		q.Run.DP, q.Run.GradDtype, q.Run.ParamDtype, q.Run.Zero = 1024, "float", "bfloat16", 1
		q.Rule = &Pace{4 * 7.5e9 / 293e12, 2 * 7.5e9 / 293e12}
		t0 := time.Now()
		a, err := Ask(q)
		fmt.Println(time.Since(t0), err)
		r := a.Rule
		for _, p := range r.Points {
			fmt.Println(p.Amount, p.Keep, p.Kept, p.Best, float64(p.Elements)/1e6, p.Costs)
		}
		r.Points = nil
		fmt.Printf("%+v\n", r)
	}
}
