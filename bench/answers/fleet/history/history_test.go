package history_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/fleet/history"
	"zbench/bench/base/jsonfile"
)

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

func written(t testing.TB, m any) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, jsonfile.Write(&b, "m", m))
	return b.Bytes()
}

// after returns the memory of so many daily checks of eight GPUs, and the time of the last.
func after(t testing.TB, checks int, lost func(check, gpu int) float64) *history.Memory {
	t.Helper()
	m := history.New("a")
	for i := range checks {
		now := noon.Add(time.Duration(i) * 24 * time.Hour)
		m.Begin(now, map[string]string{"amdgpu": "6.12"})
		require.True(t, m.Add(now, figures(i, lost)))
	}
	return m
}

func figures(check int, lost func(check, gpu int) float64) (out []history.Figure) {
	for g := range 8 {
		wave := 0.01 * float64((check*7+g*3)%5-2) / 2
		out = append(out, history.Figure{Kind: "memory", Subject: fmt.Sprint("GPU ", g), Rate: 4e12 * (1 + wave) * (1 - lost(check, g))})
	}
	return out
}

func none(int, int) float64 { return 0 }

func TestAMemoryIsReadAsItWasWritten(t *testing.T) {
	m := after(t, 80, none)
	require.LessOrEqual(t, len(m.Rounds), history.Window+history.Lasting)
	text := written(t, m)
	back, err := history.Read(text, "a")
	require.NoError(t, err)
	require.Equal(t, text, written(t, back))
	require.EqualValues(t, 80, back.Checks)
}

// Each kind of bad file is refused by its own reason, and only a later version's must be kept.
func TestBadMemories(t *testing.T) {
	good := string(written(t, after(t, 20, none)))
	for at := range len(good) - 1 {
		if at%37 == 0 {
			_, err := history.Read([]byte(good[:at]), "a")
			require.Error(t, err, "torn at %d", at)
		}
	}
	other := after(t, 3, none)
	other.Host = "b"
	for name, x := range map[string]struct{ text, says string }{
		"edited":   {strings.Replace(good, `"checks": 20`, `"checks": 21`, 1), "edited"},
		"foreign":  {string(written(t, other)), `the memory of "b"`},
		"future":   {strings.Replace(good, "zbench.history/1", "zbench.history/2", 1), "later version"},
		"another":  {`{"schema": "zbench.topo/1"}`, `schema is "zbench.topo/1"`},
		"unsealed": {`{"schema": "zbench.history/1", "host": "a"}`, "checksum"},
		"huge":     {good + strings.Repeat(" ", history.Most), "more than"},
		"negative": {string(written(t, &history.Memory{Schema: history.Schema, Host: "a", Checks: -1})), "negative"},
		"rate": {string(written(t, &history.Memory{Schema: history.Schema, Host: "a", Rounds: []history.Round{
			{Figures: map[string]map[string]float64{"memory": {"GPU 0": -1}}},
		}})), "must be positive"},
		"many": {string(written(t, &history.Memory{Schema: history.Schema, Host: "a", Rounds: make([]history.Round, 1000)})), "more entries"},
	} {
		_, err := history.Read([]byte(x.text), "a")
		require.ErrorContains(t, err, x.says, name)
		if name == "future" {
			require.ErrorIs(t, err, history.ErrFuture)
		} else {
			require.NotErrorIs(t, err, history.ErrFuture, name)
		}
	}
}

// A memory stays small, whatever names and counters a node has.
func TestAMemoryIsBounded(t *testing.T) {
	m := history.New("a")
	long := strings.Repeat("ü", 1000)
	for i := range 60 {
		facts, all, counters := map[string]string{}, []history.Figure{}, []history.Counter{}
		for j := range 600 {
			facts[fmt.Sprint(j, "-", i, long)] = long
			all = append(all, history.Figure{Kind: fmt.Sprint(j%8, long), Subject: fmt.Sprint(j, long), Rate: 1})
			counters = append(counters, history.Counter{Subject: fmt.Sprint(i, "-", j), Name: long, Value: 1})
		}
		for j := range 10 {
			m.Again(fmt.Sprint(i, j, long))
		}
		m.Begin(noon.Add(time.Duration(i)*time.Hour), facts)
		m.Add(m.Last, all)
		m.Grown("boot", counters)
	}
	text := written(t, m)
	require.Less(t, len(text), history.Most)
	_, err := history.Read(text, "a")
	require.NoError(t, err)
}

func TestALossIsFoundAgainstOnesOwnPast(t *testing.T) {
	const before = 40
	for _, x := range []struct {
		name        string
		lost        float64
		first, last int // the checks after the loss of which the first finds it; 0 is none
	}{
		{"8 % at the third check", 0.08, 3, 3},
		{"4 % at about the fifteenth", 0.04, 4, 15},
		{"1 % never", 0.01, 0, 0},
	} {
		found := 0
		for n := 1; n <= 30 && found == 0; n++ {
			m := after(t, before+n, func(check, gpu int) float64 {
				if check >= before && gpu == 5 {
					return x.lost
				}
				return 0
			})
			declines, fallen := m.Declines()
			require.Empty(t, fallen, "one of eight")
			if len(declines) > 0 {
				found = n
				require.Len(t, declines, 1)
				require.Equal(t, "GPU 5", declines[0].Subject)
				require.InDelta(t, x.lost, declines[0].Lost, 0.015)
				require.True(t, declines[0].Confirms(4e12*(1-x.lost)))
				require.False(t, declines[0].Confirms(4e12))
			}
		}
		require.True(t, found >= x.first && found <= x.last, "%s: found at %d", x.name, found)
	}
}

// A step of a whole kind is told apart from a component, and an era begins anew.
func TestStepsOfAKind(t *testing.T) {
	step := func(check, _ int) float64 {
		if check >= 40 {
			return 0.1
		}
		return 0
	}
	m := after(t, 41, step)
	declines, fallen := m.Declines()
	require.Empty(t, declines, "one check")
	require.Equal(t, []string{"memory"}, fallen)
	m = after(t, 43, step)
	declines, _ = m.Declines()
	require.Len(t, declines, 8)
	m.Restart()
	require.True(t, m.Add(m.Last.Add(time.Hour), figures(43, step)))
	declines, fallen = m.Declines()
	require.Empty(t, declines)
	require.Empty(t, fallen)
	require.False(t, history.Together(1, 8), "one node is no fleet")
	require.True(t, history.Together(2, 8))
	require.False(t, history.Together(6, 128))
	require.True(t, history.Together(7, 128))
}

func TestErasFollowVersions(t *testing.T) {
	m := after(t, 40, none)
	require.Empty(t, m.Begin(noon, map[string]string{"RCCL": "2.28.3"}), "a passive check had not read it")
	require.Equal(t, []history.Change{{Name: "amdgpu", Before: "6.12", Now: "6.13"}}, m.Begin(noon, map[string]string{"amdgpu": "6.13"}))
	require.EqualValues(t, 1, m.Era)
	for i := range 3 {
		require.True(t, m.Add(noon.Add(time.Duration(100+i)*24*time.Hour), figures(i, func(int, int) float64 { return 0.2 })))
	}
	declines, _ := m.Declines()
	require.Empty(t, declines, "another driver is another era")
}

// Checks within minutes are one. A clock that steps back neither blocks nor doubles checks.
func TestSeparateChecksAndClocks(t *testing.T) {
	m := after(t, 5, none)
	require.False(t, m.Add(m.Last.Add(time.Minute), figures(5, none)))
	require.True(t, m.Add(m.Last.Add(-1000*time.Hour), figures(5, none)), "the clock stepped back")
	require.False(t, m.Add(m.Last.Add(-1000*time.Hour+time.Minute), figures(5, none)))
	require.True(t, m.Add(m.Last.Add(1000*time.Hour), figures(5, none)))
	require.False(t, m.Add(m.Last.Add(1001*time.Hour), nil), "nothing was measured")
}

func TestCountersThatGrow(t *testing.T) {
	m := history.New("a")
	read := func(boot string, value uint64) []history.Growth {
		m.Begin(noon, nil)
		return m.Grown(boot, []history.Counter{{Subject: "gpu", Name: "ras/umc/ce", Value: value}})
	}
	require.True(t, read("1", 3)[0].New)
	require.Empty(t, read("1", 3))
	require.EqualValues(t, 2, read("1", 5)[0].By)
	require.EqualValues(t, 4, read("2", 4)[0].By, "after a boot it counts from zero")
	require.EqualValues(t, 1, read("2", 1)[0].By, "the driver was loaded again")
	m.Begin(noon, nil)
	require.Empty(t, m.Grown("2", nil), "it could not be read")
	require.Empty(t, read("2", 1))
}

func TestFindingsThatComeAgain(t *testing.T) {
	m := history.New("a")
	again := func(name string) int { m.Begin(noon, nil); return m.Again(name) }
	require.Equal(t, 1, again("flap"))
	require.Equal(t, 1, m.Again("flap"), "the same check")
	require.Equal(t, 2, again("flap"))
	require.Equal(t, 3, again("flap"))
	require.Equal(t, 3, again("flap"))
	m.Checks += history.Window
	require.Equal(t, 1, again("flap"), "long ago")
}
