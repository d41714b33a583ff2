package formats

import (
	"io"
	"runtime"
	"strings"
	"testing"
)

// events is a file of the profiler of so many bytes, most of them Python frames and host
// operators, as in a real one.
type events struct {
	left int64
	at   int
	unit string
}

const (
	eventsBegin = `{"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8}, "traceEvents": [`
	eventsEnd   = `{"ph": "i"}]}`
)

func newEvents(size int64) io.Reader {
	host := `{"ph": "X", "cat": "python_function", "name": "torch/nn/modules/module.py(1740): _call_impl", "pid": 542, "tid": 542, "ts": 3743411231987.544, "dur": 51.73, "args": {"Python id": 77, "Python parent id": 76, "Ev Idx": 265, "Input Dims": [[[2873320]], [], [], [64, 3, 7, 7]]}},` + "\n"
	kernel := `{"ph": "X", "cat": "kernel", "name": "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>", "pid": 2, "tid": 0, "ts": 3743411225136.592, "dur": 8.5, "args": {"device": 2, "stream": 0, "correlation": 4079, "grid": [56, 1, 1]}},` + "\n"
	launch := `{"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 542, "tid": 639, "ts": 3743411225100.1, "dur": 3.5, "args": {"External id": 275, "cid": 134, "correlation": 4079, "grid": [56, 1, 1]}},` + "\n"
	node := `{"ph": "X", "cat": "cpu_op", "name": "autograd::engine::evaluate_function: AddBackward0", "pid": 542, "tid": 639, "ts": 3743411225090.1, "dur": 9.5, "args": {"External id": 1025, "Sequence number": 1199, "Fwd thread id": 1, "Ev Idx": 0}},` + "\n"
	u := strings.Repeat(strings.Repeat(host, 12)+node+launch+kernel, 40)
	return io.MultiReader(strings.NewReader(eventsBegin), &events{left: size, unit: u}, strings.NewReader(eventsEnd))
}

func (e *events) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if e.at == 0 && e.left <= 0 {
			return n, io.EOF
		}
		m := copy(p[n:], e.unit[e.at:])
		e.at = (e.at + m) % len(e.unit)
		n, e.left = n+m, e.left-int64(m)
	}
	return n, nil
}

// BenchmarkKineto reads 1 GB: the bar is 30 s of a core and 200 MB.
func BenchmarkKineto(b *testing.B) {
	const size = 1 << 30
	b.SetBytes(size)
	for b.Loop() {
		var most uint64
		r := &watched{Reader: newEvents(size), most: &most}
		if _, err := Read("big.json", r); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(most)/1e6, "MB-heap")
	}
}

type watched struct {
	io.Reader
	n    int64
	most *uint64
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if before := w.n >> 26; before != (w.n+int64(n))>>26 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		*w.most = max(*w.most, m.HeapSys)
	}
	w.n += int64(n)
	return n, err
}
