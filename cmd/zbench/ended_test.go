package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What srun writes of tasks that have failed; the texts are of Slurm 22.05.
func TestEndedBySrun(t *testing.T) {
	for line, want := range map[string][]endedTask{
		"srun: error: node2: task 3: Exited with exit code 1":           {{3, "srun on node2: Exited with exit code 1"}},
		"srun: error: node1: tasks 0,4-7: Killed":                       {{0, "srun on node1: Killed"}, {4, "srun on node1: Killed"}},
		"srun: error: node1: tasks 1-3: Terminated":                     {{1, "srun on node1: Terminated"}},
		"srun: error: Unable to create step for job 3: Invalid request": nil,
		"srun: launch/slurm: _step_signal: Terminating StepId=1.0":      nil,
		"": nil,
		"srun: error: node2: task 99999999999999999999: Killed": nil,
	} {
		got := endedBySrun(line)
		require.Equal(t, want, got, line)
		for _, one := range got {
			again, ok := readEnded(one.line())
			require.True(t, ok)
			require.Equal(t, one, again)
		}
	}
	code, ok := endedTask{0, "srun on node2: Exited with exit code 3"}.code()
	require.True(t, ok)
	require.Equal(t, 3, code)
	_, ok = endedTask{0, "srun on node2: Killed"}.code()
	require.False(t, ok)
	_, ok = readEnded("interrupt")
	require.False(t, ok)
}
