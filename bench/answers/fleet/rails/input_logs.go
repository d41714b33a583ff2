package rails

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"zbench/bench/base/plain"
	"zbench/bench/run/record"
)

// Log is a log of rccl-tests or nccl-tests of one pair.
type Log struct {
	// File is the log's base name.
	File   string
	Record *record.Record
}

// FromLogs makes a matrix from logs of pairs. The pair of a log is the two hosts that it lists. If the log
// lists fewer hosts, the file's name gives the pair: two names joined by __, --, _to_, -to- or a comma, or
// by the only _, or by the only -. An ending, and a collective's name in front, are removed first. Names
// are names of nodes, or of GPUs as in ReadMatrix.
//
// A value is the bus bandwidth of the largest size that most logs share. Logs without that size or without
// a pair are left out, with a note.
func FromLogs(logs []Log) (m *Matrix, notes []string, err error) {
	b := newBuilder()
	pairs := make([][2]string, len(logs))
	var paired []int
	for i, l := range logs {
		var ok bool
		if h := l.Record.World.Hosts; len(h) == 2 && h[0] != h[1] {
			pairs[i] = [2]string{h[0], h[1]}
		} else if pairs[i], ok = pairOfName(l.File); !ok {
			notes = append(notes, fmt.Sprintf("%s: neither its list of devices nor its name has a pair; name it NODE__NODE.log", plain.Line(l.File)))
			continue
		}
		paired = append(paired, i)
	}
	collective, bytes := common(logs, paired)
	if bytes == 0 {
		return nil, notes, fmt.Errorf("%w: %s of %d have a pair, and these have no collective and size in common", ErrFormat, plain.Count(len(paired), "log"), len(logs))
	}
	b.oneNode = !slices.ContainsFunc(paired, func(i int) bool { return !digits(pairs[i][0]) || !digits(pairs[i][1]) })
	for _, i := range paired {
		rate := ratesOf(logs[i].Record)[point{collective, bytes}]
		if rate <= 0 {
			notes = append(notes, fmt.Sprintf("%s: no %s of %d bytes", plain.Line(logs[i].File), collective, bytes))
			continue
		}
		var ends [2]int
		for k, name := range pairs[i] {
			if ends[k], err = b.end(name); err != nil {
				return nil, notes, fmt.Errorf("%w: %s: %w", ErrFormat, plain.Line(logs[i].File), err)
			}
		}
		b.Values = append(b.Values, Value{ends[0], ends[1], rate})
	}
	notes = append(notes, fmt.Sprintf("compared: bus bandwidth of %s at %d bytes", collective, bytes))
	return &b.Matrix, notes, nil
}

// endings are the possible endings of a log's name.
var endings = []string{".log", ".txt", ".out", ".stdout", ".err"}

// pairOfName reads the pair in a file's name.
func pairOfName(file string) (pair [2]string, ok bool) {
	stem := file
	for slices.Contains(endings, path.Ext(stem)) {
		stem = strings.TrimSuffix(stem, path.Ext(stem))
	}
	for _, c := range []string{"sendrecv", "all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast", "reduce"} {
		for _, tail := range []string{"_perf", ""} {
			for _, mark := range []string{"__", "--", "_", "-", "."} {
				stem = strings.TrimPrefix(stem, c+tail+mark)
			}
		}
	}
	for _, mark := range []string{"__", "--", "_to_", "-to-", ",", "_", "-"} {
		a, b, cut := strings.Cut(stem, mark)
		if cut && a != "" && b != "" && a != b && !strings.Contains(b, mark) {
			return [2]string{a, b}, true
		}
	}
	return pair, false
}

func digits(name string) bool {
	return name != "" && strings.Trim(name, "0123456789") == ""
}

// `common` returns the collective that most logs have, and its largest size that at least three quarters of
// these logs have.
func common(logs []Log, of []int) (collective string, bytes int64) {
	have := map[string]int{}
	sizes := map[string]map[int64]int{}
	for _, i := range of {
		seen := map[string]bool{}
		for at := range ratesOf(logs[i].Record) {
			if !seen[at.collective] {
				have[at.collective]++
				seen[at.collective] = true
			}
			if sizes[at.collective] == nil {
				sizes[at.collective] = map[int64]int{}
			}
			sizes[at.collective][at.bytes]++
		}
	}
	for name, n := range have {
		if collective == "" || n > have[collective] || n == have[collective] && name < collective {
			collective = name
		}
	}
	// If all logs had to have the size, one log that ended early would exclude all large sizes.
	for size, n := range sizes[collective] {
		if 4*n >= 3*have[collective] && size > bytes {
			bytes = size
		}
	}
	return collective, bytes
}

// point is one size of a collective.
type point struct {
	collective string
	bytes      int64
}

// ratesOf returns the bus bandwidths of a log. It takes the better of the two placements. Of several runs
// it takes the slowest, so that faster runs do not hide it.
func ratesOf(rec *record.Record) map[point]float64 {
	type run struct {
		point
		setup string
	}
	runs, out := map[run]float64{}, map[point]float64{}
	for _, r := range rec.Results {
		if r.Status == record.OK && r.BusBW != nil && *r.BusBW > 0 {
			at := run{point{r.Collective, r.Bytes}, r.Setup}
			runs[at] = max(runs[at], *r.BusBW)
		}
	}
	for at, rate := range runs {
		if slowest, ok := out[at.point]; !ok || rate < slowest {
			out[at.point] = rate
		}
	}
	return out
}
