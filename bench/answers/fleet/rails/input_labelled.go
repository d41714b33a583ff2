package rails

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/pattern"
	"zbench/bench/base/plain"
)

// Programs that measure pairs of a node's GPUs print squares with a title and with numbers in the first
// line and column: TransferBench, rocm_bandwidth_test, CUDA's p2pBandwidthLatencyTest, nvbandwidth. Their
// output also has lists of devices, other squares (access, latency, both directions), sums, and rows of
// CPUs.

// mostPrinted is more bytes than any of these programs prints.
const mostPrinted = 4 << 20

// labelled is a square with a title and numbered devices.
type labelled struct {
	title string
	// number is the line number of the square's first line.
	number int
	// labels are the numbers of the devices. rows holds the cells of each device.
	labels []string
	rows   [][]string
}

var (
	deviceWords = pattern.New(`(?i)\b(CPU|GPU|device|dev|DMA|EXE) +(\d+)\b`)
	deviceLabel = pattern.New(`^(?i:(cpu)|gpu|device|dev|dma|exe)?0*(\d{1,4})$`)
	corner      = pattern.New(`^[A-Za-z+]+[\\/]+[A-Za-z]+$`)
	// borders are the characters that draw tables.
	borders = pattern.New(`[│┌├└┬┴┼┤┐┘─|]+`)
	// `foreign` matches titles of squares without bandwidths of GPUs. `slower` matches titles of bandwidths
	// that say less about a link.
	foreign = pattern.New(`(?i)latency|\(us\)|access|connect|distance|cpu ?\(row\)|hops|weight`)
	slower  = pattern.New(`(?i)bi-?dir|P2P=Disabled|<->`)
	// listedDevice is a line of rocm_bandwidth_test. The line of a GPU has a bus address after the name.
	// The line of a CPU has none.
	listedDevice = pattern.New(`^\s*Device: *(\d+), *(.*)$`)
)

// devicesOf splits a line into words. It keeps "GPU 00" as one word.
func devicesOf(text string) []string {
	return strings.Fields(deviceWords.ReplaceAllString(text, "$1$2"))
}

// label returns the number of a device, with CPU in front for a CPU; empty if a word is not a device.
func label(word string) string {
	if m := deviceLabel.FindStringSubmatch(word); m != nil {
		return strings.ToUpper(m[1]) + m[2]
	}
	return ""
}

// `follows` reports whether label l can stand behind the label `before` in a list. The numbers rise, and
// begin again at the first GPU after the CPUs.
func follows(l, before string) bool {
	digits, cpu := strings.CutPrefix(l, "CPU")
	digitsBefore, cpuBefore := strings.CutPrefix(before, "CPU")
	n, _ := strconv.Atoi(digits) // a label has digits
	m, _ := strconv.Atoi(digitsBefore)
	return n > m || cpuBefore && !cpu
}

// labelsOf returns the devices of a square's first line. Columns of sums may follow the devices. It returns
// nil for any other line.
func labelsOf(text string) (labels []string, titled bool) {
	words := devicesOf(text)
	if len(words) > 0 && corner.MatchString(words[0]) {
		words, titled = words[1:], true
	}
	for _, w := range words {
		l := label(w)
		if l == "" {
			break
		}
		if len(labels) > 0 && !follows(l, labels[len(labels)-1]) {
			return nil, false
		}
		labels = append(labels, l)
	}
	if len(labels) < 2 || len(labels) < len(words) && !titled {
		return nil, false
	}
	return labels, titled
}

// squares returns the labelled squares of a text.
func squares(text []string) (found []labelled) {
	title := ""
	for i := 0; i < len(text); i++ {
		labels, titled := labelsOf(text[i])
		if labels == nil {
			if strings.TrimSpace(strings.Trim(text[i], "=-")) != "" {
				title = strings.TrimSpace(text[i])
			}
			continue
		}
		s, last := labelled{title: title, number: i + 1, labels: labels}, i
		for k := i + 1; k < len(text) && len(s.rows) < len(labels); k++ {
			words := devicesOf(text[k])
			if len(words) == 0 || strings.Trim(text[k], " -=\r") == "" {
				continue
			}
			if len(words) > 1 && strings.ContainsAny(words[1], "<>") { // sums of a device: sent, received, both
				if words[1] != "->" {
					continue
				}
				words = slices.Delete(words, 1, 2)
			}
			if label(words[0]) != labels[len(s.rows)] || len(words) <= len(labels) {
				break
			}
			s.rows, last = append(s.rows, words[1:len(labels)+1]), k
		}
		if len(s.rows) == len(labels) && (titled || title != "") {
			found, title, i = append(found, s), "", last
		}
	}
	return found
}

// linesOf makes the table of a program's output, and lists the unread parts; nil if it has no
// labelled square.
func linesOf(text string) (table []line, notes []string) {
	all := strings.Split(borders.ReplaceAllString(text, " "), "\n")
	found := squares(all)
	found = slices.DeleteFunc(found, func(s labelled) bool { return foreign.MatchString(s.title) })
	if len(found) == 0 {
		return nil, nil
	}
	best := max(0, slices.IndexFunc(found, func(s labelled) bool { return !slower.MatchString(s.title) }))
	s := found[best]
	for i, other := range found {
		if i != best {
			notes = append(notes, fmt.Sprintf("the square at line %d (%s) is not read: give it alone", other.number, plain.Line(short(other.title))))
		}
	}
	cpu := s.cpus(all)
	head := []string{""}
	for _, l := range s.labels {
		if !cpu[l] {
			head = append(head, l)
		}
	}
	if len(cpu) > 0 {
		notes = append(notes, plain.Count(len(cpu), "row")+" of CPUs are left out; GPUs keep the program's numbers")
	}
	head[0] = s.title
	table = []line{{s.number, head}}
	for i, row := range s.rows {
		if cpu[s.labels[i]] {
			continue
		}
		cells := []string{s.labels[i]}
		for k, c := range row {
			if strings.Contains(s.title, "<-") && !strings.Contains(s.title, "<->") {
				c = s.rows[k][i] // the row receives
			}
			if !cpu[s.labels[k]] {
				cells = append(cells, c)
			}
		}
		table = append(table, line{s.number + 1 + i, cells})
	}
	return table, notes
}

// cpus returns the devices that are not GPUs. The list of devices has no bus address for a CPU. Without
// such a list, a CPU's cell on the square's diagonal is empty, where a GPU has its local memory.
func (s *labelled) cpus(text []string) map[string]bool {
	cpu, listed := map[string]bool{}, false
	for _, l := range text {
		if m := listedDevice.FindStringSubmatch(l); m != nil {
			listed = true
			if !strings.Contains(m[2], ",") {
				cpu[m[1]] = true
			}
		}
	}
	named := strings.HasPrefix(s.labels[0], "CPU") // TransferBench lists CPUs first
	for i, row := range s.rows {
		_, gap, _ := number(row[i])
		if named && strings.HasPrefix(s.labels[i], "CPU") || gap && !named && !listed {
			cpu[s.labels[i]] = true
		}
	}
	for l := range cpu {
		if !slices.Contains(s.labels, l) {
			delete(cpu, l)
		}
	}
	if len(cpu) == len(s.labels) {
		return nil // the diagonal is always empty in this square
	}
	return cpu
}
