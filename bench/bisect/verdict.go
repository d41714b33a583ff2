package bisect

// Verdict is what a case, or a whole search, comes to.
type Verdict string

// The verdicts. Slower names the first slow variant; Ranked tells that some variants differ
// where they are in no order. Unclear means that the readings do not tell, NotChecked that
// there are none.
const (
	Slower     Verdict = "slower"
	Ranked     Verdict = "ranked"
	Same       Verdict = "same"
	Unclear    Verdict = "unclear"
	NotChecked Verdict = "not_checked"
)

// Verdicts lists them all.
func Verdicts() []Verdict { return []Verdict{Slower, Ranked, Same, Unclear, NotChecked} }

// Word is the verdict as people read it.
func (v Verdict) Word() string {
	if v == NotChecked {
		return "NOT CHECKED"
	}
	return string(v)
}
