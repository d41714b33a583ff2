package peers

import (
	"slices"
	"strings"

	"zbench/bench/base/pattern"
	"zbench/bench/run/record"
)

// rankStat matches the option -a in a command, which selects the rank whose time is printed: rank
// 0, the fastest or the slowest.
var rankStat = pattern.New(`(?:^|\s)(?:-a\s*|--average[ =])([023])(?:\s|$)`)

// tableWarnings adds warnings about where a table comes from and how it was read.
func (s *scan) tableWarnings(set *setting) {
	t, line := set.test, set.test.rows[0].line
	if t.layout.inferred {
		s.warn("columns_inferred", "pass the log with its line of column names", "no line of column names precedes the table at line %d: its columns are today's, which size/time confirms", line)
	}
	if t.layout.noPlace {
		s.warn("place_assumed", "pass the log with the line above its column names", "the table at line %d does not say whether it is out of place or in place: taken for out of place", line)
	}
	if set.assumed {
		s.warn("unit_assumed", "pass the log with the line of units", "no line gives the time unit of the table at line %d and no row decides it: taken for us", line)
	}
	if set.scale != 1 {
		s.warn("old_algbw", "algbw here is size/time, as it is printed today", "the table at line %d prints busbw as algbw, as nccl-tests did before June 2020", line)
	}
	if t.header.iters == 0 {
		s.warn("iterations_unknown", "pass the log with its line that begins # nThread", "the log does not say over how many launches the times of the table at line %d are means", line)
	}
	if t.header.agg > 1 {
		s.warn("aggregated", "compare only with runs with the same -m", "the times of the table at line %d are of %d collectives launched as one group", line, t.header.agg)
	}
	if m := rankStat.FindStringSubmatch(t.command); m != nil {
		s.warn("rank_statistic", "compare only with runs with the same -a", "the program ran with -a %s: its times are %s, not the mean over ranks", m[1],
			map[string]string{"0": "rank 0's", "2": "the fastest rank's", "3": "the slowest rank's"}[m[1]])
	}
	if t.outOfBounds != nil && *t.outOfBounds > 0 {
		s.warn("out_of_bounds", "the data were wrong: do not use the numbers before the cause is found", "the log counts %d failed checks in the table at line %d", *t.outOfBounds, line)
	}
}

// rebuildHint is the remedy for processes that did not find each other.
const rebuildHint = "if this was meant to be one run, rebuild the tests with MPI=1 and launch them with that MPI (srun needs --mpi=pmix); if the runs are separate, import their logs one by one"

// fill sets all fields of the record except its results and counts.
func (s *scan) fill(rec *record.Record, tables []*test, used []*setting) {
	imp := record.Import{Tool: s.tool, Version: s.version}
	averages := 0
	for _, t := range tables {
		if t.average != nil {
			averages++
			v := scaled(*t.average, 1e9)
			imp.ReportedAverage = &v
		}
		if t.footers == 0 && t.outOfBounds == nil && !t.continued && !t.layout.csv {
			imp.Truncated = true
		}
	}
	if averages != 1 {
		imp.ReportedAverage = nil
	}
	if imp.Truncated {
		s.warn("truncated", "sizes may be missing at the end: pass the whole log", "a table ends before its footer (# Avg bus bandwidth)")
	}
	rec.World = used[0].world
	for _, u := range used[1:] {
		if u.ranks != used[0].ranks || u.nodes != used[0].nodes {
			s.warn("several_worlds", "look at the ranks of each result", "the tables of the log differ in ranks or nodes; the record's world is the largest")
		}
		if u.world.Ranks > rec.World.Ranks {
			rec.World = u.world
		}
	}
	for _, u := range used {
		// With several device lists, a reader would mistake the hosts of one list for all hosts.
		if len(u.world.Hosts) > 0 && !slices.Equal(u.world.Hosts, rec.World.Hosts) {
			rec.World.Hosts = nil
		}
	}
	if imp.Tool == "" {
		imp.Tool = guessTool(rec.World.GPU, s.libraries)
	}
	rec.Source = record.Source{Kind: record.Imported, Libraries: s.libraries, Imports: []record.Import{imp}}
	rec.Warnings = append([]record.Warning{}, s.warnings...)
}

// guessTool names the program if the log does not name it. Both programs print the same tables, so
// the GPU and the libraries decide.
func guessTool(gpu string, libs []record.Library) string {
	switch {
	case slices.ContainsFunc(libs, func(l record.Library) bool { return l.Name != "nccl" }):
		return "rccl-tests"
	case strings.Contains(gpu, "AMD") || strings.Contains(gpu, "Instinct") || strings.Contains(gpu, "gfx"):
		return "rccl-tests"
	case gpu != "" || len(libs) > 0:
		return "nccl-tests"
	}
	return "rccl-tests or nccl-tests"
}
