package rails

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/test/project"
)

// printed are the outputs of programs that measure n GPUs of a node; rate is that of a pair, in GB/s.
var printed = map[string]func(n int, rate func(i, k int) float64) string{
	"TransferBench p2p":            p2pBoth,
	"TransferBench p2p, both ways": p2pBothWays,
	"TransferBench, one space":     oneSpace,
	"TransferBench in borders":     inBorders,
	"TransferBench": func(n int, rate func(i, k int) float64) string {
		text := "TransferBench v1.64\n\nSummary: [67108864 bytes per Transfer] [GFX:8] [1 Read(s) 1 Write(s)]\n" + strings.Repeat("=", 58) + "\nSRC\\DST "
		for i := range n {
			text += fmt.Sprintf(" GPU %02d    ", i)
		}
		text += "   STotal      Actual\n"
		for i := range n {
			text += fmt.Sprintf("GPU %02d ", i)
			sum := 0.0
			for k := range n {
				if i == k {
					text += "     N/A    "
					continue
				}
				sum += rate(i, k)
				text += fmt.Sprintf(" %7.2f    ", rate(i, k))
			}
			text += fmt.Sprintf(" %9.3f %9.3f\n", sum, sum-0.3)
		}
		return text + "\nRTotal  " + strings.Repeat(" 141.000 ", n+3) + "\n\nAverage   bandwidth (GPU Timed): 40.1 GB/s\n"
	},
	"rocm_bandwidth_test": func(n int, rate func(i, k int) float64) string {
		text := "\n          RocmBandwidthTest Version: 2.6.0\n\n          Launch Command is: rocm-bandwidth-test (rocm_bandwidth -a + rocm_bandwidth -A)\n\n"
		all := []string{}
		for i := range 2 {
			text += fmt.Sprintf("          Device: %d,  AMD EPYC 9654 96-Core Processor\n", i)
			all = append(all, fmt.Sprint(i))
		}
		for i := range n {
			text += fmt.Sprintf("          Device: %d,  AMD Instinct MI300X,  GPU-%016x,  %02x:0.0\n", i+2, i+7, 5+16*i)
			all = append(all, fmt.Sprint(i+2))
		}
		square := func(title string, cell func(i, k int) string) string {
			out := "\n          " + title + "\n\n          D/D       " + strings.Join(all, "           ") + "\n\n"
			for i := range n + 2 {
				out += fmt.Sprintf("          %-10d", i)
				for k := range n + 2 {
					out += fmt.Sprintf("%-12s", cell(i, k))
				}
				out += "\n\n"
			}
			return out
		}
		copied := func(scale float64) func(i, k int) string {
			return func(i, k int) string {
				switch {
				case i < 2 && k < 2:
					return "N/A"
				case i < 2 || k < 2:
					return fmt.Sprintf("%.3f", scale*55)
				case i == k:
					return "2033.1"
				}
				return fmt.Sprintf("%.3f", scale*rate(i-2, k-2))
			}
		}
		text += square("Inter-Device Access", func(int, int) string { return "1" })
		text += square("Inter-Device Numa Distance", func(i, k int) string { return fmt.Sprint(10 + 5*(i+k)) })
		return text + square("Unidirectional copy peak bandwidth GB/s", copied(1)) + square("Bidirectional copy peak bandwidth GB/s", copied(1.7))
	},
	"p2pBandwidthLatencyTest": func(n int, rate func(i, k int) float64) string {
		square := func(title string, cell func(i, k int) float64) string {
			out := title + "\n   D\\D"
			for i := range n {
				out += fmt.Sprintf("%6d ", i)
			}
			out += "\n"
			for i := range n {
				out += fmt.Sprintf("%6d ", i)
				for k := range n {
					out += fmt.Sprintf("%6.02f ", cell(i, k))
				}
				out += "\n"
			}
			return out
		}
		or := func(local float64, other func(i, k int) float64) func(i, k int) float64 {
			return func(i, k int) float64 {
				if i == k {
					return local
				}
				return other(i, k)
			}
		}
		text := "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\nDevice: 0, NVIDIA H100, pciBusID: 5d, pciDeviceID: 0, pciDomainID:0\nDevice=0 CAN Access Peer Device=1\n\nP2P Connectivity Matrix\n     D\\D"
		for i := range n {
			text += fmt.Sprintf("%6d", i)
		}
		text += "\n"
		for i := range n {
			text += fmt.Sprintf("%6d\t", i) + strings.Repeat("     1", n) + "\n"
		}
		text += square("Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)", or(2500, func(int, int) float64 { return 30 }))
		text += square("Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)", or(2500, rate))
		text += square("Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)", or(2500, func(i, k int) float64 { return 1.9 * rate(i, k) }))
		return text + square("P2P=Enabled Latency (P2P Writes) Matrix (us)", or(2.1, func(int, int) float64 { return 1.6 }))
	},
	"nvbandwidth": func(n int, rate func(i, k int) float64) string {
		head := "         "
		for i := range n {
			head += fmt.Sprintf(" %9d", i)
		}
		text := "nvbandwidth Version: v0.8\n\nDevice 0: NVIDIA H100 (00000000:34:00)\n\nRunning host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n" + head + "\n 0 " + strings.Repeat("     55.10", n) + "\n\nSUM host_to_device_memcpy_ce 440.1\n\nRunning device_to_device_memcpy_read_ce.\nmemcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n" + head + "\n"
		for i := range n {
			text += fmt.Sprintf(" %d", i)
			for k := range n {
				if i == k {
					text += "       N/A"
				} else {
					text += fmt.Sprintf(" %9.2f", rate(i, k))
				}
			}
			text += "\n"
		}
		return text + "\nSUM device_to_device_memcpy_read_ce 715.53\n"
	},
}

// transferBench is a square of TransferBench between two CPUs and n GPUs, without CPUs where cpus is 0. A row has a line for
// each of its arrows; space is what stands between cells.
func transferBench(cpus, n int, corner, space string, arrows []string, rate func(i, k int) float64) string {
	text := corner
	for k := range cpus + n {
		text += space + device(k, cpus)
	}
	text += "\n"
	for i := range cpus + n {
		for a, arrow := range arrows {
			text += device(i, cpus) + arrow
			for k := range cpus + n {
				cell := fmt.Sprintf("%.2f", 45.06+float64(a))
				if i == k {
					cell = "N/A"
				} else if min(i, k) >= cpus {
					cell = fmt.Sprintf("%.3f", float64(a+1)*rate(i-cpus, k-cpus))
				}
				text += space + cell
			}
			text += "\n"
		}
	}
	return text
}

func device(k, cpus int) string {
	if k < cpus {
		return fmt.Sprintf("CPU %02d", k)
	}
	return fmt.Sprintf("GPU %02d", k-cpus)
}

// Layouts of TransferBench: p2p of 1.62, its square of both directions alone, with one space as in AMD's acceptance guide,
// and the all-to-all in borders of 2026.
func p2pOneWay(n int, rate func(i, k int) float64) string {
	return "Unidirectional copy peak bandwidth GB/s [Local read / Remote write] (GPU-Executor: GFX)\n" + transferBench(2, n, " SRC+EXE\\DST", "    ", []string{"  ->"}, rate)
}

func p2pBothWays(n int, rate func(i, k int) float64) string {
	return "Bidirectional copy peak bandwidth GB/s [Local read / Remote write] (GPU-Executor: GFX)\n" + transferBench(2, n, " SRC\\DST", " ", []string{" ->", " <-", " <->"}, rate)
}

func p2pBoth(n int, rate func(i, k int) float64) string {
	return "Bytes Per Direction 268435456\n" + p2pOneWay(n, rate) + "   CPU->CPU  CPU->GPU  GPU->CPU  GPU->GPU\nAverages (During UniDir):    103.69     44.91     55.25     57.32\n\n" + p2pBothWays(n, rate)
}

func oneSpace(n int, rate func(i, k int) float64) string {
	return "Summary:\n======\n" + transferBench(0, n, "   SRC\\\\DST", " ", []string{""}, rate)
}

func inBorders(n int, rate func(i, k int) float64) string {
	text := "GPU-DMA All-To-All benchmark:\n=====\n[268435456 bytes per Transfer] [DMA:8]\n┌---------┬-----┬-----┐\n"
	for i, row := range strings.Split(strings.TrimSpace(transferBench(0, n, "SRC\\DST", "  ", []string{""}, rate)), "\n") {
		sums := []string{"  STotal   │  Actual ", "  426.83   │  426.59 "}[min(i, 1)]
		text += "│ " + row[:7] + " │" + row[7:] + "      │" + sums + "│\n"
		if i == 0 {
			text += "├---------┼-----┼-----┤\n"
		}
	}
	return text + "│ RTotal  │" + strings.Repeat("426.62  ", n) + "  │ 3413.29   │ 3411.43 │\n└---------┴-----┘\n"
}

// A slow link is named in the output of each program, by that program's numbers; without one there is no finding.
func TestPrintedMatrices(t *testing.T) {
	for name, text := range printed {
		for _, n := range []int{4, 8} {
			healthy := func(i, k int) float64 { return 47 + 0.1*float64((3*i+5*k)%4) }
			slow := func(i, k int) float64 {
				if min(i, k) == 1 && max(i, k) == 3 {
					return 23.4
				}
				return healthy(i, k)
			}
			m, _, err := ReadMatrix(strings.NewReader(text(n, healthy)))
			require.NoError(t, err, name)
			require.Len(t, m.Values, n*(n-1), "%s: %v", name, m.Names)
			require.Empty(t, Judge(m.Data()).Findings, name)
			m, _, err = ReadMatrix(strings.NewReader(text(n, slow)))
			require.NoError(t, err, name)
			found := Judge(m.Data()).Findings
			require.Len(t, found, 1, name)
			a, b := 1, 3
			if name == "rocm_bandwidth_test" {
				a, b = 3, 5 // behind two CPUs
			}
			require.Equal(t, Component{Part: Link, A: a, B: b}, found[0].Component, name)
			require.InDelta(t, 0.5, found[0].Lost, 0.03)
		}
	}
}

// The published squares: the link between GPUs 1 and 3 has half of its bandwidth.
func TestDataPrintedMatrices(t *testing.T) {
	for _, file := range []string{"transferbench_a2a.txt", "p2p_bandwidth_matrix.txt"} {
		f, err := os.Open(filepath.Join(project.Published(t, "cases/files"), file))
		require.NoError(t, err)
		m, notes, err := ReadMatrix(f)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		require.Equal(t, []string{"0", "1", "2", "3"}, m.Names, notes)
		require.Len(t, Judge(m.Data()).Findings, 1)
	}
}
