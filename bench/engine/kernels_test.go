package engine_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/bench/base/folder"
	"zbench/bench/engine"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/test/foldertest"
)

// device is a GPU whose kernels move 4 TB/s, and a little less that differs from batch
// to batch. stop is called before batch number at, counted over all.
type device struct {
	at, done int
	stop     func()
	closed   int
	// name is that of the GPU; fails is the key of a row that fails.
	name, fails string
}

func (d *device) Cancel()      {}
func (d *device) Close() error { d.closed++; return nil }

// row is a planned row of one kernel.
func row(kernel, role string, shape record.Shape, block int) record.Kernel {
	key := fmt.Sprintf("%s/%s/%d/%d/%d", kernel, role, shape.Array, shape.Rows, block)
	return record.Kernel{
		Case: record.Case{Key: record.KernelKey(key, 0), Status: record.Interrupted, Reason: "the run ended before it", Verified: record.Verified{State: record.NotVerified, Reason: "not run"}, Warnings: []record.Warning{}}, Kernel: kernel, Dtype: "float", Role: role, Shape: shape, Config: record.LaunchConfig{Block: block},
		Moved: 1 << 24, WorkingSet: 1 << 24,
	}
}

// rows are those that a request makes.
func rows(want spec.Spec) (all []record.Kernel) {
	k := want.Kernels
	for _, name := range k.Streams {
		all = append(all, row(name, record.Reference, record.Shape{Array: k.Size}, 256))
		if k.Tune {
			all = append(all, row(name, record.Tune, record.Shape{Array: k.Size}, 512), row(name, record.Tune, record.Shape{Array: k.Size}, 1024))
		}
	}
	for _, n := range k.Hidden {
		for _, role := range []string{record.Fused, record.Unfused, record.Copy} {
			all = append(all, row(want.Benchmark, role, record.Shape{Rows: int64(k.Rows), Cols: int64(n)}, n))
		}
	}
	for i, role := range []string{record.Own, record.Full, record.Sequence}[:3*len(k.Shapes)] {
		all = append(all, row("X Xt", role, record.Shape{Rows: 256, Cols: 512, Batch: 1, Measured: 1}, i))
	}
	return all
}

// jobs measure rows, each alone.
func (d *device) jobs(rows []record.Kernel) (all []plan.Job) {
	for _, r := range rows {
		all = append(all, plan.Job{Keys: []string{r.Key}, Take: func(ctx context.Context, pass int) ([]record.Part, bool) {
			if d.done++; d.stop != nil && d.done == d.at {
				d.stop()
			}
			if ctx.Err() != nil {
				return nil, false
			}
			part := record.Part{Key: r.Key, Pass: pass, Status: record.OK, Kernel: &record.KernelSamples{Launches: 10, Stop: "precision"}}
			if r.Key == d.fails {
				return []record.Part{{Key: r.Key, Pass: pass, Status: record.Failed, Reason: "the device is lost"}}, true
			}
			if pass == 0 {
				part.Verified = &record.Verified{State: record.VerifiedOK, Elements: r.Moved / 4, Wrong: new(int64)}
			}
			h := fnv.New64a()
			_, _ = fmt.Fprint(h, r.Key, pass)
			for n := h.Sum64(); len(part.Kernel.Seconds) < 20; n = n*6364136223846793005 + 1442695040888963407 {
				part.Kernel.Seconds = append(part.Kernel.Seconds, float64(r.Moved)/4e12*(1+float64(n>>48)/(1<<16)/100))
			}
			return []record.Part{part}, true
		}})
	}
	return all
}

// more is a row in the configuration of each stream that was the fastest of its tuning.
func (d *device) more(rec *record.Record) (rows []record.Kernel, jobs []plan.Job) {
	best := map[string]record.Kernel{}
	var order []string
	for _, k := range rec.Kernels {
		if k.Role != record.Tune || k.Metrics.Rate == nil {
			continue
		}
		if b, ok := best[k.Kernel]; !ok {
			order = append(order, k.Kernel)
			best[k.Kernel] = k
		} else if *k.Metrics.Rate > *b.Metrics.Rate {
			best[k.Kernel] = k
		}
	}
	for _, name := range order {
		rows = append(rows, row(name, record.Best, best[name].Shape, best[name].Config.Block))
	}
	return rows, d.jobs(rows)
}

// kernelEngine is an engine of kernels on a file system.
func kernelEngine(files folder.FS, d *device) *engine.Engine {
	return &engine.Engine{
		Host: at(files, nil).Host, Created: time.Unix(1795219200, 0).UTC(), Tool: record.Tool{Name: "zbench", Version: "test"},
		Watch: blindly,
		OpenKernels: func(_ context.Context, u *engine.Setup) (*engine.Kernels, error) {
			want := u.Spec
			k := &engine.Kernels{
				Driver: d, Spec: want, Rows: rows(want),
				Facts: engine.Facts{Devices: []record.Device{{Name: "MI300X" + d.name, Kind: record.GPU}}},
			}
			k.Jobs = d.jobs(k.Rows)
			if want.Kernels.Tune {
				k.More = d.more
			}
			return k, nil
		},
	}
}

// runKernels runs a request into the folder "out".
func runKernels(ctx context.Context, t *testing.T, files folder.FS, want spec.Spec, d *device) error {
	t.Helper()
	e := kernelEngine(files, d)
	dir, err := folder.New(e.Host, "out", want.Benchmark, false)
	require.NoError(t, err)
	u, err := engine.Prepare(want, false)
	require.NoError(t, err)
	_, err = e.Run(ctx, u, dir)
	require.NoError(t, dir.Close())
	require.Equal(t, 1, d.closed)
	return err
}

// resumeKernels continues with the folder "out", asked nothing.
func resumeKernels(t *testing.T, files folder.FS, d *device) error {
	t.Helper()
	e := kernelEngine(files, d)
	dir, err := folder.Open(e.Host, "out")
	require.NoError(t, err)
	old, err := engine.ReadFolder(files, "out")
	require.NoError(t, err)
	_, err = e.Resume(context.Background(), *old.Header.Record.Spec, old, dir)
	require.NoError(t, dir.Close())
	return err
}

// kernelRequests are one of each family: of streams that are tuned, and so extended; of
// norms; of Muon.
func kernelRequests() map[string]spec.Spec {
	ask := func(name string, k spec.Kernels) spec.Spec {
		k.Precision, k.MaxTime = 0.01, 0.1
		return spec.Spec{Schema: spec.Schema, Backend: "rocm", Benchmark: name, Seed: 1, Kernels: &k}
	}
	return map[string]spec.Spec{
		"streams": ask(spec.HBM, spec.Kernels{Size: 1 << 23, Streams: []string{"copy", "triad"}, Dtypes: []string{"float"}, Data: "random", Tune: true}),
		"norms":   ask("rmsnorm", spec.Kernels{Rows: 8, Hidden: []int{64, 4096}, Dtypes: []string{"float"}}),
		"muon":    ask(spec.Muon, spec.Kernels{Shapes: []string{"256x512"}, Coefficients: "keller-jordan"}),
	}
}

// wholeKernels is the folder of a request that ran to its end.
func wholeKernels(t *testing.T, want spec.Spec) map[string]string {
	t.Helper()
	files := foldertest.New()
	require.NoError(t, runKernels(context.Background(), t, files, want, &device{}))
	require.Empty(t, files.Locks, "the lock is released")
	return files.Files("out")
}

// A request of kernels leaves a record that holds it; from the record, or from the
// journal, it runs again.
func TestKernelsRun(t *testing.T) {
	for name, want := range kernelRequests() {
		t.Run(name, func(t *testing.T) {
			files := wholeKernels(t, want)
			rec, err := record.Decode(strings.NewReader(files[engine.ResultsFile]))
			require.NoError(t, err)
			require.NoError(t, engine.Verdict(rec, "out"))
			planned := len(rows(want))
			if want.Kernels.Tune {
				planned += len(want.Kernels.Streams)
				require.Equal(t, record.Best, rec.Kernels[planned-1].Role)
			}
			require.Len(t, rec.Kernels, planned)
			for _, k := range rec.Kernels {
				require.Equal(t, record.OK, k.Status, k.Key)
				require.Equal(t, record.VerifiedOK, k.Verified.State, k.Key)
				require.Equal(t, 40, k.Timing.Seconds.N, "%s: two passes", k.Key)
			}
			for _, file := range []string{engine.ResultsFile, engine.JournalFile} {
				read, err := spec.Read([]byte(files[file]))
				require.NoError(t, err)
				same(t, files, wholeKernels(t, *read))
			}
		})
	}
}

// Wherever the disk fills up, what is there resumes to the folder of a run that was not
// cut off, its extension included.
func TestKernelsCutAtEveryLine(t *testing.T) {
	for name, want := range kernelRequests() {
		t.Run(name, func(t *testing.T) {
			whole := wholeKernels(t, want)
			for left := range strings.Count(whole[engine.JournalFile], "\n") - 1 { // the header is not appended
				files := foldertest.New()
				files.Left = left
				require.ErrorIs(t, runKernels(context.Background(), t, files, want, &device{}), foldertest.ErrFull)
				before := files.Files("out")[engine.JournalFile]
				files.Left = -1
				err := resumeKernels(t, files, &device{})
				require.NoError(t, err)
				got := files.Files("out")
				require.True(t, strings.HasPrefix(got[engine.JournalFile], before[:strings.LastIndex(before, "\n")+1]), "nothing finished is taken again")
				same(t, whole, got)
			}
		})
	}
}

// A run that is cancelled is saved, says so, and resumes to the same folder. Resumed
// once more it takes nothing.
func TestKernelsCancelledThenResumed(t *testing.T) {
	want := kernelRequests()["streams"]
	whole := wholeKernels(t, want)
	for at := 1; at <= 16; at += 3 {
		ctx, cancel := context.WithCancel(context.Background())
		files := foldertest.New()
		require.NoError(t, runKernels(ctx, t, files, want, &device{at: at, stop: cancel}))
		rec, err := record.Decode(strings.NewReader(files.Files("out")[engine.ResultsFile]))
		require.NoError(t, err)
		if at <= 2*len(rows(want)) {
			err := engine.Verdict(rec, "out")
			require.ErrorContains(t, err, "interrupted")
			var e *exit.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, exit.Interrupted, e.Code)
		}
		err = resumeKernels(t, files, &device{})
		require.NoError(t, err)
		same(t, whole, files.Files("out"))
		again := &device{}
		err = resumeKernels(t, files, again)
		require.NoError(t, err)
		require.Zero(t, again.done, "a complete run is rendered again")
		same(t, whole, files.Files("out"))
	}
}

// A row that fails ends the run: it is named, and what came before it is saved. On
// another device the run does not go on.
func TestKernelsFailAndStay(t *testing.T) {
	want := kernelRequests()["norms"]
	files := foldertest.New()
	require.NoError(t, runKernels(context.Background(), t, files, want, &device{fails: rows(want)[2].Key}))
	rec, err := record.Decode(strings.NewReader(files.Files("out")[engine.ResultsFile]))
	require.NoError(t, err)
	require.ErrorContains(t, engine.Verdict(rec, "out"), "failed: the device is lost")
	require.Equal(t, record.OK, rec.Kernels[0].Status)
	require.NotEmpty(t, rec.Kernels[0].Warnings, "it has one of two passes")
	require.Equal(t, record.Skipped, rec.Kernels[3].Status)
	ctx, cancel := context.WithCancel(context.Background())
	files = foldertest.New()
	require.NoError(t, runKernels(ctx, t, files, want, &device{at: 3, stop: cancel}))
	err = resumeKernels(t, files, &device{name: "A"})
	require.ErrorContains(t, err, "devices: was 0 MI300X, is 0 MI300XA")
}
