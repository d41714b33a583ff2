package formats

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"zbench/bench/files/peers"
	"zbench/bench/files/trace"
)

// grown are files that somebody made to be slow: so many calls, each with names, groups and
// numbers of its own, or one thing that is that long or that deep.
var grown = map[string]func(n int) string{
	"kineto-calls": func(n int) string {
		return kinetoOf(0, 2, each(n, func(i int) string {
			return fmt.Sprintf(callOf, float64(10*i), i, "allreduce", i+1, i+1, i) + "," + fmt.Sprintf(kernelOf, float64(10*i+5), 9.0, i, "allreduce", i+1, i+1)
		})...)
	},
	"kineto-groups": func(n int) string {
		return kinetoOf(0, 2, each(n, func(i int) string {
			return strings.ReplaceAll(fmt.Sprintf(callOf, float64(10*i), i, "allreduce", 8, 8, i), `"7"`, fmt.Sprintf(`"g%d"`, i%maxGroups))
		})...)
	},
	"kineto-backward": func(n int) string {
		return kinetoOf(0, 2, each(n, func(i int) string { return strings.Join(backwardAt(float64(1000*i), i, true), ",") })...)
	},
	"kineto-steps": func(n int) string {
		return kinetoOf(0, 2, each(n, func(i int) string {
			return fmt.Sprintf(`{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d", "ts": %d, "dur": 10},`, i, 10*i) + fmt.Sprintf(callOf, float64(10*i+2), i, "allreduce", 1+i%3, 1+i%3, i)
		})...)
	},
	"et": func(n int) string {
		return `{"schema": "1.1.0", "pid": 1, "nodes": [` + strings.Join(each(n, func(i int) string {
			return fmt.Sprintf(`{"name": "record_param_comms", "id": %d, "inputs": {"values": [[[1, 2, 0, %d, 4, "cuda:0"]], %d, ["%d", "x"], 0, "allreduce", [], [], 0, 1, 2], "types": ["Tensor(float)"]}, "outputs": {"values": []}}`, i, i+1, i, i%maxGroups)
		}), ",") + "]}"
	},
	"chakra": func(n int) string {
		b := bytes.NewBuffer(message(textField(1, []byte("0.0.4"))))
		for i := range n {
			b.Write(message(textField(2, []byte("kernel")), field(3, 7), field(7, 30), attribute("comm_type", field(9, 2)), attribute("comm_size", field(9, uint64(i+1))), attribute("pg_name", textField(29, fmt.Append(nil, i%maxGroups)))))
		}
		return b.String()
	},
	"chakra-json": func(n int) string {
		return `{"workload_graph": [` + strings.Join(each(n, func(i int) string {
			return fmt.Sprintf(`{"Name": "ncclKernel_AllReduce", "Id": %d, "NodeType": 7, "comm_size": %d}`, i, i+1)
		}), ",") + "]}"
	},
	"coll-log": func(n int) string {
		return strings.Join(each(n, func(i int) string {
			return fmt.Sprintf("h%d.:1:1 [1] NCCL INFO AllGather: opCount %x sendbuff 0x1 recvbuff 0x2 count %d datatype 9 op 0 root 0 comm 0x%x [nranks=4] stream 0x5", i%maxGroups, i, i+1, i)
		}), "\n")
	},
	"inspector": func(n int) string {
		return strings.Join(each(n, func(i int) string {
			return fmt.Sprintf(`{"header": {"id": "0x%x", "rank": %d, "n_ranks": 8}, "coll_perf": {"coll": "AllGather", "coll_sn": %d, "coll_msg_size_bytes": %d, "coll_exec_time_us": 88}}`, i%maxGroups, i%8, i, i+1)
		}), "\n")
	},
	"one-name": func(n int) string { // groups whose sizes differ
		return strings.Join(each(n, func(i int) string {
			return fmt.Sprintf("h:1:1 [1] NCCL INFO AllGather: opCount %x sendbuff 0x1 recvbuff 0x2 count 1 datatype 9 op 0 root 0 comm 0xabc [nranks=%d] stream 0x5", i, 1+i%maxGroups)
		}), "\n")
	},
	"one-string": func(n int) string {
		return kinetoOf(0, 2, `{"cat": "kernel", "name": "`+strings.Repeat(`\"x`, 200*n)+`"}`)
	},
	"one-line": func(n int) string { return "h1:1:1 [1] NCCL INFO AllGather: " + strings.Repeat("opCount ", 50*n) },
	"deep":     func(n int) string { return `{"schema": "1.1.0", "nodes": ` + strings.Repeat("[", 200*n) },
	"table": func(n int) string {
		return "# nThread 1 nGpus 8 minBytes 8 maxBytes 8 step: 2(factor)\n#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n" +
			strings.Join(each(n, func(i int) string {
				return fmt.Sprintf("%12d %12d float sum -1 50.1 1.0 1.7 0 50.2 1.0 1.7 0", 4*(i+1), i+1)
			}), "\n")
	},
	"rccl-json": func(n int) string {
		return strings.Join(each(n, func(i int) string {
			return fmt.Sprintf(`{"numCycle":0, "name":"AllReduce", "nodes":1, "ranks":8, "ranksPerNode":8, "gpusPerRank":1, "size":%d, "type":"float", "redop":"sum", "inPlace":%d, "time":50.1, "algBw":1.0, "busBw":1.75, "wrong":"0"}`, 4*(i+1), i%2)
		}), "\n")
	},
}

func each(n int, text func(i int) string) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = text(i)
	}
	return all
}

// BenchmarkGrowth shows that the time of a hostile file is linear in it: growth is how much
// longer a byte takes in a file of four times the calls.
func BenchmarkGrowth(b *testing.B) {
	const calls = 8000
	for name, file := range grown {
		b.Run(name, func(b *testing.B) {
			least := [2]float64{}
			texts := [2]string{file(calls), file(4 * calls)}
			for b.Loop() {
				for i, text := range texts {
					began := time.Now()
					hostile(name, text)
					if took := time.Since(began).Seconds() / float64(len(text)); least[i] == 0 || took < least[i] {
						least[i] = took
					}
				}
			}
			b.ReportMetric(least[1]/least[0], "growth")
			b.ReportMetric(1e-6/least[1], "MB/s")
		})
	}
}

// hostile reads a file to the end that `zbench trace` or import would come to.
func hostile(name, text string) {
	if t, err := Read(name, strings.NewReader(text)); err == nil {
		d := trace.Answer(t, func(_ string, bytes int64, _ int) (float64, string) { return float64(bytes) / 1e9, "x" })
		d.Shown()
		t.Job()
		return
	}
	_, _, _ = Curves(name, strings.NewReader(text), peers.Hints{})
}
