package peers

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/run/record"
)

// Merge merges imports of one cluster into one record, in the given order. It returns an error that
// wraps ErrMerge if there is nothing to merge, if a record is not an import, or if two files hold
// the same case: such cases are two measurements to compare, not repeats. It does not change its
// arguments.
func Merge(recs ...*record.Record) (*record.Record, error) {
	if len(recs) == 0 {
		return nil, fmt.Errorf("%w: no records were given; pass at least one log", ErrMerge)
	}
	out := &record.Record{Schema: record.Schema, Source: record.Source{Kind: record.Imported}, Warnings: []record.Warning{}}
	from := map[string]string{}
	for i, r := range recs {
		if r == nil || r.Source.Kind != record.Imported {
			return nil, fmt.Errorf("%w: record %d is not an import; merge only what was imported from logs", ErrMerge, i+1)
		}
		file := files(r)
		for _, res := range r.Results {
			if other, ok := from[res.Key]; ok {
				return nil, fmt.Errorf("%w: %s and %s both hold %s; import them separately and compare the two", ErrMerge, other, file, res.Key)
			}
			from[res.Key] = file
		}
		out.Results = append(out.Results, r.Results...)
		out.Source.Imports = append(out.Source.Imports, r.Source.Imports...)
		for _, l := range r.Source.Libraries {
			if !slices.Contains(out.Source.Libraries, l) {
				out.Source.Libraries = append(out.Source.Libraries, l)
			}
		}
		for _, w := range r.Warnings {
			if len(recs) > 1 {
				w.Message = file + ": " + w.Message
			}
			out.Warnings = append(out.Warnings, w)
		}
	}
	mergeWorlds(out, recs)
	return out, nil
}

// files returns the names of a record's logs.
func files(r *record.Record) string {
	return strings.Join(slice.Map(r.Source.Imports, func(imp record.Import) string { return imp.File }), "+")
}

// mergeWorlds uses the largest world and states how the other worlds differ.
func mergeWorlds(out *record.Record, recs []*record.Record) {
	out.World = recs[0].World
	for _, r := range recs[1:] {
		if r.World.Ranks > out.World.Ranks {
			out.World = r.World
		}
	}
	for _, r := range recs {
		a, b := out.World, r.World
		if a.Ranks != b.Ranks || a.Nodes != b.Nodes || a.GPU != b.GPU || !slices.Equal(a.Hosts, b.Hosts) {
			out.Warnings = append(out.Warnings, record.Warning{
				Code:    "several_worlds",
				Message: fmt.Sprintf("%s ran in another world than the record's: %d ranks on %d nodes", files(r), b.Ranks, b.Nodes),
				Hint:    "look at the ranks of each result, and merge only logs of the same hosts",
			})
		}
	}
}
