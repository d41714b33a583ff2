package peers

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
	"zbench/test/project"
)

// publishedCase is what must be read from a published log; average is in bytes
// per second, 0 for none.
type publishedCase struct {
	file, world, first, last string
	lines, rows              int
	skipped, codes           []string
	tool                     string
	average                  float64
	verified                 string
}

var publishedCases = []publishedCase{
	{
		"nccl-tests-2021_a100_1n8g_all_gather.log", "8r 1n 8/node 8/proc A100-SXM4-40GB",
		"all_gather/float/none/32/r8/g8/oop 35.03 x1 0.0009135 0.0007993 not_verified",
		"all_gather/float/none/8589934592/r8/g8/ip 32669 x1 262.9 230.1 not_verified",
		53, 29,
		[]string{"size 0 [17 18 19 20 21]"},
		[]string{},
		"nccl-tests ", 58.2651e9, record.NotVerified,
	},
	{
		"nccl-tests-2021_a100_1n8g_all_reduce.log", "8r 1n 8/node 8/proc A100-SXM4-40GB",
		"all_reduce/float/sum/4/r8/g8/oop 34.73 x1 0.0001152 0.0002016 not_verified",
		"all_reduce/float/sum/8589934592/r8/g8/ip 63959 x1 134.3 235 not_verified",
		53, 32,
		[]string{"size 0 [17 18]"},
		[]string{},
		"nccl-tests ", 68.4048e9, record.NotVerified,
	},
	{
		"nccl-tests_polaris_128n512g_all_reduce.log", "512r 128n 4/node 1/proc NVIDIA A100-SXM4-40GB",
		"all_reduce/float/sum/4/r512/g1/oop 307.5 x1 1.301e-05 2.597e-05 ok",
		"all_reduce/float/sum/1073741824/r512/g1/ip 406341 x1 2.642 5.275 ok",
		552, 29,
		[]string{},
		[]string{},
		"nccl-tests ", 1.06678e9, record.VerifiedOK,
	},
	{
		"nccl-tests_polaris_2n8g_all_reduce_env1.log", "8r 2n 4/node 1/proc NVIDIA A100-SXM4-40GB",
		"all_reduce/float/sum/4/r8/g1/oop 48.77 x1 8.202e-05 0.0001435 ok",
		"all_reduce/float/sum/1073741824/r8/g1/ip 198926 x1 5.398 9.446 ok",
		48, 29,
		[]string{},
		[]string{},
		"nccl-tests ", 2.96746e9, record.VerifiedOK,
	},
	{
		"nccl-tests_polaris_2n8g_all_reduce_env3.log", "8r 2n 4/node 1/proc NVIDIA A100-SXM4-40GB",
		"all_reduce/float/sum/4/r8/g1/oop 26.29 x1 0.0001521 0.0002663 ok",
		"all_reduce/float/sum/1073741824/r8/g1/ip 52006 x1 20.65 36.13 ok",
		48, 29,
		[]string{},
		[]string{},
		"nccl-tests ", 11.0744e9, record.VerifiedOK,
	},
	{
		"rccl-tests_mi300x_2n16g_all_reduce.log", "16r 2n 8/node 1/proc AMD Instinct MI300X",
		"all_reduce/float/sum/8/r16/g1/oop 256.5 x1 3.119e-05 5.848e-05 ok",
		"all_reduce/float/sum/17179869184/r16/g1/ip 90127 x1 190.6 357.4 ok",
		65, 32,
		[]string{},
		[]string{},
		"rccl-tests develop:448c4c7", 92.3318e9, record.VerifiedOK,
	},
	{
		"rccl-tests_mi355x-pollara_2n16g_all_reduce_truncated.log", "16r 2n 8/node 1/proc ",
		"all_reduce/float/sum/8/r16/g1/oop 41.16 x1 0.0001944 0.0003644 ok",
		"all_reduce/float/sum/8589934592/r16/g1/ip 43639 x1 196.8 369.1 ok",
		60, 31,
		[]string{},
		[]string{"iterations_unknown", "truncated"},
		"rccl-tests develop:5272cd1", 0, record.VerifiedOK,
	},
}

func TestDataLogs(t *testing.T) {
	dir := project.Published(t, "logs")
	for _, c := range publishedCases {
		t.Run(c.file, func(t *testing.T) {
			rec := parseFile(t, filepath.Join(dir, c.file))
			imp := rec.Source.Imports[0]
			require.Equal(t, c.world, worldBrief(rec.World))
			require.Equal(t, c.lines, imp.Lines)
			require.Equal(t, c.rows, imp.Rows)
			require.Len(t, rec.Results, 2*c.rows)
			require.Equal(t, c.first, brief(rec.Results[0]))
			require.Equal(t, c.last, brief(rec.Results[2*c.rows-1]))
			require.Equal(t, c.skipped, skipBrief(rec))
			// The average is compared with the rows by Parse: no warning, no difference.
			require.Equal(t, c.codes, codes(rec))
			require.Equal(t, c.tool, imp.Tool+" "+imp.Version)
			require.Len(t, imp.SHA256, 64)
			if c.average == 0 {
				require.Nil(t, imp.ReportedAverage)
				require.True(t, imp.Truncated)
			} else {
				require.Equal(t, c.average, *imp.ReportedAverage)
				require.False(t, imp.Truncated)
			}
			for _, r := range rec.Results {
				require.Equal(t, c.verified, r.Verified.State)
				require.Empty(t, r.Warnings)
			}
		})
	}
}

func TestDataLibraries(t *testing.T) {
	rec := parseFile(t, filepath.Join(project.Published(t, "logs"), "rccl-tests_mi300x_2n16g_all_reduce.log"))
	require.Equal(t, []record.Library{
		{Name: "rccl", Version: "2.22.3-HEAD:7d8d67c", Path: "/shared/apps/ubuntu/opt/rocm-6.4.2/lib/librccl.so.1"},
		{Name: "hip", Version: "6.4.43484-123eb5128"},
		{Name: "rocm", Version: "6.4.2.0-120-e7d83f5"},
	}, rec.Source.Libraries)
	require.Equal(t, []string{"gpu-53", "gpu-56"}, rec.World.Hosts)
	require.Equal(t, record.Schema, rec.Schema)
	require.Equal(t, record.Imported, rec.Source.Kind)
	require.Zero(t, rec.Tool)
	require.True(t, rec.Created.IsZero())
	require.Equal(t, 20, rec.Results[0].Burst.Iterations)
	require.Nil(t, rec.Results[0].Burst.MaxOfRanks)
}
