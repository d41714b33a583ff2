package replay

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/hardware/policy"
	"zbench/bench/run/plan"
)

// engines is a Player whose messages, products and steps take so many times as long with a policy, with noise.
type engines struct {
	plan.Player

	messages, products, step float64
	r                        *rand.Rand
	steps                    map[int]*plan.Step
}

func (e *engines) Stage(_ context.Context, setting int, s *plan.Step) error {
	e.steps[setting] = s
	return nil
}

func (e *engines) times(setting, n int, seconds, factor float64) (all []float64) {
	if e.steps[setting].Cases[0].Policy != (policy.Policy{}) {
		seconds *= factor
	}
	for range n * 4 {
		all = append(all, seconds*(1+0.01*e.r.NormFloat64()))
	}
	return all
}

func (e *engines) Play(_ context.Context, setting, n int) ([]float64, error) {
	return e.times(setting, n, 1e-2, e.step), nil
}

func (e *engines) Watch(_ context.Context, w plan.Watch) ([]float64, error) {
	if w.Computing {
		return e.times(w.Setting, w.Count, 5e-3, e.products), nil
	}
	return e.times(w.Setting, w.Count, 1e-3, e.messages), nil
}

// Of planted effects with noise at most 1 % of the sentences have a wrong sign, or any where nothing was planted. The limits
// are printed.
func TestPoliciesOfStepsAreToldBySign(t *testing.T) {
	const seeds = 300
	step := &plan.Step{Sends: []int{0, 0}, Cases: []plan.Case{{Ranks: 4}}, Ops: []plan.StepOp{
		{Do: plan.StepGemm, Launches: 8}, {Do: plan.StepLaunch}, {Do: plan.StepGemm, Launches: 8}, {Do: plan.StepLaunch, Message: 1}, {Do: plan.StepWait, Message: 1},
	}}
	copies := policy.Policy{Register: policy.Window, CTA: policy.Zero}
	sentence := regexp.MustCompile(`^POLICY register window, CTA zero: messages (.*), the matrix products beside them (.*); your step (.*)\.$`)
	for _, planted := range []float64{0, 0.01, 0.03, 0.1} {
		wrong, told := 0, 0
		for seed := range uint64(seeds) {
			p := &engines{messages: 1 + planted, products: 1 - planted, step: 1 - planted, r: rand.New(rand.NewPCG(seed, 62)), steps: map[int]*plan.Step{}}
			e, err := TakePolicy(t.Context(), p, 0, step, copies)
			require.NoError(t, err)
			e.Compute = plan.StepGemm
			m := sentence.FindStringSubmatch(e.finding(false).Text)
			require.NotNil(t, m, e.finding(false).Text)
			for i, sign := range []string{"slower", "faster", "shorter"} {
				require.Regexp(t, `^as long within <?[0-9.]+ %$|^<?[0-9.]+ % \w+ ± <?[0-9.]+ %$`, m[1+i])
				switch by := regexp.MustCompile(`% (\w+) ±`).FindStringSubmatch(m[1+i]); {
				case by == nil:
				case planted == 0 || by[1] != sign:
					wrong++
				default:
					told++
				}
			}
		}
		require.LessOrEqual(t, wrong, seeds/100, fmt.Sprint(planted))
		if planted >= 0.03 {
			require.Equal(t, 3*seeds, told, fmt.Sprint(planted))
		}
	}
}

// Without constants of what messages take from computation a simulation says nothing of it; a policy that serves no message
// was not timed.
func TestPoliciesThatWereNotCompared(t *testing.T) {
	e := PolicyEffect{Policy: "register window", Compute: plan.StepGemm, Rounds: 10, Messages: Change{Log: 0.09, Limit: 0.01}}
	require.Regexp(t, "messages 9.4 % slower ± 1 %; your step as long within .*NOT CHECKED: what the matrix products beside them lose", e.finding(true).Text)
	e = PolicyEffect{Policy: "CTA zero", Unserved: []string{"all_reduce: copy engines move data"}}
	require.Equal(t, "POLICY CTA zero: nothing to compare. Not served: all_reduce: copy engines move data.", e.finding(true).Text)
}
