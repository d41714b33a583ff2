package peers

import (
	"fmt"
	"math"

	"zbench/bench/run/record"
)

// verify stores the result of a row's data check. The worst result of all repeats counts. first is
// true for the first repeat.
func verify(res *record.Result, t *test, wrong decimal, first bool) {
	if !first && res.Verified.State == record.VerifiedOK && wrong&present != 0 && !t.isWrong(wrong) {
		return // a further correct row
	}
	v := t.verified(wrong)
	if !first && badness(v) <= badness(res.Verified) {
		return
	}
	res.Verified = v
	res.Status, res.Reason = record.OK, ""
	if v.State == record.VerifiedWrong {
		res.Status, res.Reason = record.WrongData, "the log reports wrong data"
		if v.Wrong != nil {
			res.Reason = fmt.Sprintf("the log reports %d wrong elements", *v.Wrong)
		}
	}
}

// isWrong reports whether a cell says that data were wrong.
func (t *test) isWrong(cell decimal) bool {
	return cell&marked != 0 || !t.layout.maxError && cell&present != 0 && cell.value() > 0
}

// unattributed returns the footer's number of failed checks if the rows do not show which of them
// failed, else 0.
func (t *test) unattributed() int64 {
	if t.outOfBounds == nil || *t.outOfBounds == 0 {
		return 0
	}
	told := int64(0)
	for _, r := range t.rows {
		for _, s := range r.sides[:r.n] {
			if t.isWrong(s.wrong) {
				told++
			}
		}
	}
	if told > 0 && t.whole() || told >= *t.outOfBounds {
		return 0
	}
	return *t.outOfBounds
}

// failRun marks a result whose run had failed checks that no row shows.
func failRun(res *record.Result, failed int64) {
	if res.Status == record.WrongData {
		return
	}
	res.Status = record.WrongData
	res.Reason = fmt.Sprintf("the log counts %d failed checks and does not say in which rows", failed)
	res.Verified = record.Verified{State: record.VerifiedWrong, Reason: res.Reason}
}

// badness orders the results of checks, the best first: ok, not verified, wrong, more elements
// wrong.
func badness(v record.Verified) int64 {
	switch {
	case v.State == record.VerifiedOK:
		return 0
	case v.State != record.VerifiedWrong:
		return 1
	case v.Wrong == nil:
		return 2
	}
	return 2 + *v.Wrong
}

// verified reads the last cell of a side. It holds the number of wrong elements, or in old logs the
// largest error.
func (t *test) verified(cell decimal) record.Verified {
	unknown := func(reason string) record.Verified {
		return record.Verified{State: record.NotVerified, Reason: reason}
	}
	switch {
	case cell == 0:
		return unknown("log has no column of errors")
	case cell == hidden:
		return unknown("log says N/A")
	case !t.layout.maxError && cell.value() == math.Trunc(cell.value()):
		wrong := int64(cell.value())
		if !t.isWrong(cell) {
			return record.Verified{State: record.VerifiedOK, Wrong: &wrong}
		}
		return record.Verified{State: record.VerifiedWrong, Wrong: &wrong}
	case cell&marked != 0:
		return record.Verified{State: record.VerifiedWrong, Reason: "the largest error, " + cell.String() + "*, is marked as above the threshold"}
	case !t.layout.maxError:
		return unknown("log's number of wrong elements is " + cell.String())
	case t.outOfBounds == nil:
		return unknown("log gives a largest error and no verdict")
	case *t.outOfBounds == 0 || t.asterisk:
		return record.Verified{State: record.VerifiedOK, Wrong: new(int64)}
	}
	return unknown("log counts failed checks and does not say in which rows")
}
