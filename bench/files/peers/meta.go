package peers

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/pattern"
	"zbench/bench/hardware/collective"
	gpus "zbench/bench/hardware/device"
	"zbench/bench/hardware/signs"
	"zbench/bench/run/record"
)

// facts holds what a log says outside its tables.
type facts struct {
	tool, version string
	libraries     []record.Library
	signs         signs.Reader
	warnings      []record.Warning
	// The map `more` has the number of warnings that were not kept, by code.
	more map[string]int
}

// maxLibraries is the largest number of library versions that are kept.
const maxLibraries = 64

// maxNote is the number of bytes that a warning quotes from a line.
const maxNote = 200

// signLine recognises a line that states a defect or limits the meaning of the figures.
func signLine(_ *scan, _ *test, l line) []string {
	if signs.Tells(l.Text) {
		return matched
	}
	return nil
}

func (s *scan) sign(t *test, l line, _ []string) {
	sign := s.signs.Take(l.no, l.Text)
	t.failed = t.failed || sign.Fatal
	if sign.Code == signs.Blocking {
		t.header.blocking = strings.TrimSpace(l.Text)
	}
}

// signWarnings adds warnings about lines that state a defect.
func (s *scan) signWarnings() {
	cluster := slices.ContainsFunc(s.tests, func(t *test) bool {
		return slices.ContainsFunc(t.worlds, func(w *world) bool {
			return slices.ContainsFunc(w.devices, func(d device) bool { _, known := gpus.Lookup(d.gpu); return known })
		})
	})
	for _, f := range s.signs.Found(cluster) {
		more := ""
		if f.Count > 1 {
			more = fmt.Sprintf(" (and %d more such lines)", f.Count-1)
		}
		s.warn(f.Code, f.Next, "%s: %s%s", f.At(), quoted(f.Text), more)
	}
}

// quoted returns a line for a warning, shortened and without users' names.
func quoted(text string) string {
	text = redact(text) // redact before cutting the text, because redact may not recognise a path that was cut
	if len(text) > maxNote {
		text = strings.ToValidUTF8(text[:maxNote], "") + "…"
	}
	return text
}

// maxWarnings is the number of warnings that are kept per code. Further warnings are only counted.
const maxWarnings = 20

// tableRE matches the part of a warning that names its table.
var tableRE = pattern.New(`the table at line \d+( \(and (\d+) more\))?`)

// warn adds a warning. If an earlier warning differs only in the table, warn increases the count
// in that warning, which names the first table.
func (f *facts) warn(code, hint, format string, args ...any) {
	w := record.Warning{Code: code, Message: fmt.Sprintf(format, args...), Hint: hint}
	alike := tableRE.ReplaceAllString(w.Message, "")
	same, last := 0, -1
	for i, o := range f.warnings {
		if o.Code != code {
			continue
		}
		if o == w {
			return
		}
		if m := tableRE.FindStringSubmatch(o.Message); m != nil && tableRE.ReplaceAllString(o.Message, "") == alike {
			n, _ := strconv.Atoi(m[2])
			one := strings.TrimSuffix(m[0], m[1])
			f.warnings[i].Message = strings.Replace(o.Message, m[0], fmt.Sprintf("%s (and %d more)", one, n+1), 1)
			return
		}
		same, last = same+1, i
	}
	if same < maxWarnings {
		f.warnings = append(f.warnings, w)
		return
	}
	if f.more == nil {
		f.more = map[string]int{}
	}
	f.more[code]++
	f.warnings[last].Message = fmt.Sprintf("%d more like the one before", f.more[code]+1)
}

func (f *facts) addLibrary(name, version string) {
	for i, l := range f.libraries {
		// A version may be printed once with its build and once without.
		if l.Name == name && (strings.HasPrefix(l.Version, version) || strings.HasPrefix(version, l.Version)) {
			f.libraries[i].Version = max(l.Version, version)
			return
		}
	}
	if len(f.libraries) == maxLibraries {
		return
	}
	f.libraries = append(f.libraries, record.Library{Name: name, Version: version})
}

// programs are the names of the programs of rccl-tests and nccl-tests. A name comes before the
// names that it contains. Names that collective.ByName does not know are listed, too: their rows
// would otherwise count for another collective.
var programs = []string{
	"all_reduce_bias", "all_reduce", "all_gather", "reduce_scatter", "alltoallv", "alltoall",
	"broadcast", "sendrecv", "hypercube", "gather", "scatter", "reduce",
}

var commandRE = pattern.New(`\b(` + strings.Join(append(slices.Clone(programs), collective.Names()...), "|") + `)_(?:perf|test)(?:_mpi)?\b`)

// commandLine remembers the program that a line starts, for the next test. It ignores a line with
// two programs.
func (s *scan) commandLine(_ *test, l line, _ []string) {
	if strings.Contains(l.Text, "NCCL INFO") {
		return
	}
	name := ""
	for _, m := range commandRE.FindAllStringSubmatch(l.Text, -1) {
		if name != "" && name != m[1] {
			return
		}
		name = m[1]
	}
	if name != "" {
		s.pending = command{name, l.Text, s.pending.seq + 1}
	}
}

// program removes the affixes that builds add to a program's name.
func program(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, "_mpi"), "_perf")
}

// homeRE matches a home folder with its mount and the user's name: /home/NAME, /mnt/nfs/home/NAME,
// /Users/NAME.
var homeRE = pattern.New(`(?:/[\w.+-]+)*/(?:home|homes|users|Users)/[^/\s:,;"')\]]+`)

// redact removes users' names from paths, because a record reaches more people than its log.
func redact(text string) string { return homeRE.ReplaceAllString(text, "~") }
