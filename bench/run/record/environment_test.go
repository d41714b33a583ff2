package record

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEnvironmentKeepsWhatTheLibrariesRead(t *testing.T) {
	require.Nil(t, Environment([]string{"HOME=/home/u", "PATH=/bin", "SLURM_JOB_ID=7", "ZBENCH_TOKEN=s"}))
	require.Equal(t, map[string]string{
		"NCCL_ALGO": "Ring", "RCCL_DDA_ENABLE": "0", "HSA_NO_SCRATCH_RECLAIM": "1", "NCCL_TUNER_CONFIG_FILE": "tuned.csv", "NCCL_DEBUG": "", "NCCL_NET": "a=b",
	}, Environment([]string{
		"NCCL_ALGO=Ring", "RCCL_DDA_ENABLE=0", "HSA_NO_SCRATCH_RECLAIM=1", "NCCL_TUNER_CONFIG_FILE=/home/user/tuned.csv",
		"NCCL_DEBUG=", "NCCL_NET=a=b", "HOME=/home/u", "NCCL_AUTH_TOKEN=hidden", "UCX_PRIVATE_KEY=hidden", "nccl_x=1",
	}))
}
