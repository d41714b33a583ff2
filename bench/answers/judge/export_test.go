package judge

import "zbench/bench/base/slice"

// KnownIssues are the IDs of all, in the order of the table.
func KnownIssues() []string {
	return slice.Map(known, func(r row) string { return r.ID })
}
