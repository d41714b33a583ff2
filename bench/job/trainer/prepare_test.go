package trainer

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// oneByOne is the rule tensor by tensor: what atLeast finds by sums.
func oneByOne(p packing, limits []int64) []Bucket {
	var all []Bucket
	b, start, end, used := Bucket{}, int64(0), int64(0), int64(0)
	done := func() {
		end = roundUp(end, p.divisor)
		b.Elements = end - start
		b.Padding = b.Elements - used
		all = append(all, b)
		b, start, used = Bucket{}, end, 0
	}
	for _, i := range p.order {
		e := p.params[i]
		if b.Params == 0 {
			b.First, b.Last = i, i
		}
		b.First, b.Last = min(b.First, i), max(b.Last, i)
		b.Params++
		b.Expert = e.Expert
		end = roundUp(end, p.align) + e.Elements
		used += e.Elements
		if limit := limits[min(len(all), len(limits)-1)]; limit > 0 && end-start >= limit {
			done()
		}
	}
	if b.Params > 0 {
		done()
	}
	return all
}

func TestAtLeastIsTheRuleTensorByTensor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		params := make([]Param, rapid.IntRange(1, 80).Draw(t, "tensors"))
		for i := range params {
			params[i] = Param{Elements: rapid.SampledFrom([]int64{1, 63, 64, 65, 500, 4096, 10007}).Draw(t, "elements"), Expert: rapid.Bool().Draw(t, "expert")}
		}
		limits := rapid.SliceOfN(rapid.Int64Range(0, 30_000), 1, 4).Draw(t, "limits")
		dp := rapid.IntRange(1, 2000).Draw(t, "dp")
		for _, p := range prepare(params, Run{DP: dp}).kinds {
			if len(p.order) == 0 {
				continue
			}
			require.Equal(t, oneByOne(p, limits), p.atLeast(limits...))
			p.align, p.divisor = megatronAlign, Divisor(dp, false)
			require.Equal(t, oneByOne(p, limits), p.atLeast(limits...))
		}
	})
}

// Two tensors are equal if all of their fields are, whichever come later.
func TestEqualTensorsAreEqualInEveryField(t *testing.T) {
	work := func(w float64) *float64 { return &w }
	made := func() Param {
		return Param{Name: "a", Elements: 8, Frozen: 8, Shape: []int64{2, 4}, Expert: true, Alone: true, Block: 1, Work: work(8), Ready: 1}
	}
	require.True(t, made().Equal(made()))
	for i := range reflect.TypeFor[Param]().NumField() {
		other := made()
		reflect.ValueOf(&other).Elem().Field(i).SetZero()
		require.False(t, made().Equal(other), reflect.TypeFor[Param]().Field(i).Name)
		require.False(t, other.Equal(made()))
	}
	other := made()
	other.Work = work(9)
	require.False(t, made().Equal(other))
}
