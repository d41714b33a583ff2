package launch_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/internal/launch"
)

func TestPortsStayClearOfOthers(t *testing.T) {
	used := map[int]bool{}
	for i := range 20000 {
		port := launch.Port(strings.Repeat("x", i%7)+time.Duration(i).String(), "", nil)
		used[port] = true
		require.True(t, 20480 <= port && port < 28672, port) // below the ephemeral ports, from 32768 on
		require.NotEqual(t, 28028, port, "RCCL's own")
	}
	require.Greater(t, len(used), 6000)
	at := launch.Port("job", "", nil)
	require.NotEqual(t, at, launch.Port("job", "20000-28000", nil))
	require.Greater(t, launch.Port("job", "20000-28000", nil), 28000)
	require.Equal(t, at, launch.Port("job", "12000-12003", nil))
	require.Equal(t, at, launch.Port("job", "nonsense", nil))
	launch.Port("job", "1-65535", nil) // all reserved: it ends
}

func TestHostfile(t *testing.T) {
	hosts, err := launch.ReadHosts("# rack 1\n\na slots=8 # first\r\nb\tslots=4 max_slots=9\nc\n")
	require.NoError(t, err)
	require.Equal(t, []launch.Host{{"a", 8}, {"b", 4}, {"c", 0}}, hosts)
	for text, says := range map[string]string{"": "no host", "a slots=x": "line 1", "\nslots=4": "line 2"} {
		_, err := launch.ReadHosts(text)
		require.ErrorContains(t, err, says, text)
	}
}

func TestTokens(t *testing.T) {
	token, err := launch.NewToken(strings.NewReader(strings.Repeat("\xa5", 40)))
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("a5", 32), token)
	require.NoError(t, launch.CheckToken(token))
	_, err = launch.NewToken(strings.NewReader("short"))
	require.ErrorContains(t, err, "no random bytes")
	for _, bad := range []string{"", "secret", token + "00", token[:62], strings.Repeat("zz", 32)} {
		err := launch.CheckToken(bad)
		require.ErrorContains(t, err, "64 hexadecimal digits")
		if len(bad) > 6 {
			require.NotContains(t, err.Error(), bad)
		}
	}
}

func TestJobFacts(t *testing.T) {
	end, ok := launch.JobEnd(lookup(map[string]string{"SLURM_JOB_END_TIME": "1700000000"}))
	require.True(t, ok)
	require.Equal(t, time.Unix(1700000000, 0), end)
	for _, text := range []string{"", "0", "soon", "-5"} {
		_, ok := launch.JobEnd(lookup(map[string]string{"SLURM_JOB_END_TIME": text}))
		require.False(t, ok, text)
	}
	for text, want := range map[string]int{"8": 8, "mi300x:4": 4, "": 0, "x": 0} {
		require.Equal(t, want, launch.GPUs(lookup(map[string]string{"SLURM_GPUS_PER_NODE": text})), text)
	}
}
