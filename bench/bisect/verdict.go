package bisect

import "zbench/bench/compare"

// What a case, or a whole search, comes to. Slower names the first slow variant; Ranked tells
// that some variants differ where they are in no order. Unclear means that the readings do not
// tell, NotChecked that there are none.
const (
	Slower     = compare.Slower
	Ranked     = compare.Verdict("ranked")
	Same       = compare.Same
	Unclear    = compare.Unclear
	NotChecked = compare.NotChecked
)

// Verdicts lists them all.
func Verdicts() []compare.Verdict {
	return []compare.Verdict{Slower, Ranked, Same, Unclear, NotChecked}
}
