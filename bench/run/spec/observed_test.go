package spec

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func noTrace(string) (string, []float64, error) { return "", nil, errors.New("no trace") }

func TestObservedStepsAreRead(t *testing.T) {
	want := &Observed{Settings: []ObservedSetting{{Setting: "25", Seconds: []float64{0.412, 0.4}}, {Setting: "default", Seconds: []float64{1.5}}}}
	o, err := ParseObserved("25=412ms, default = 1.5 s,25=400000us", noTrace)
	require.NoError(t, err)
	require.Equal(t, want, o)
	require.Equal(t, "25=412ms,25=400ms,default=1500ms", o.flag())
	for _, table := range []string{
		"setting,step_ms\n25,412\n25,400\ndefault,1500\n",
		"cap; ignored,step [s],note\n# a remark\n25,0.412,x\n25,0.4,y\ndefault,1.5,\n",
		"25,412ms\n\n25,400 ms\ndefault,1.5s\n",
	} {
		o, err := ReadObserved("steps.csv", strings.NewReader(table))
		require.NoError(t, err)
		require.Equal(t, want.Settings, o.Settings)
		require.Equal(t, "steps.csv", o.flag())
	}
	o, err = ParseObserved("25=a.json,50=412ms", func(path string) (string, []float64, error) { return path, []float64{1, 2}, nil })
	require.NoError(t, err)
	require.Equal(t, []ObservedSetting{{Setting: "25", File: "a.json", Seconds: []float64{1, 2}}, {Setting: "50", Seconds: []float64{0.412}}}, o.Settings)
	require.Equal(t, "25=a.json,50=412ms", o.flag())
}

func TestWhatIsNoObservedStepIsRefused(t *testing.T) {
	for text, why := range map[string]string{
		"": "not SETTING=TIME", "25": "not SETTING=TIME", "25=412": "with its unit", "=412ms": "lacks its setting", "25=": "with its unit", "25=-1s": "no trace", "25=412ms,": "not SETTING=TIME", "25=999999h": "at most",
	} {
		_, err := ParseObserved(text, noTrace)
		require.ErrorContains(t, err, why, text)
	}
	for table, why := range map[string]string{
		"": "has no step", "setting,step\n25,412\n": "steps.csv:2: \"412\" is not a time", "25,0.4\n": "name the unit", "25\n": "steps.csv:1: a row is", "setting,ms\n25,-3\n": "above 0", "setting,ms\n\"25,3\n": "steps.csv",
		"setting,ms\n,3\n": "lacks its setting", "setting,ms\n25,NaN\n": "above 0",
	} {
		_, err := ReadObserved("steps.csv", strings.NewReader(table))
		require.ErrorContains(t, err, why, table)
	}
}
