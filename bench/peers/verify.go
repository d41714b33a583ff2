package peers

import (
	"fmt"
	"math"
	"strings"

	"zbench/bench/record"
)

// verify notes what a row says about the data of a result. Of repeats the worst
// is kept; first is true for the first of them.
func verify(res *record.Result, t *test, sd cellSide, first bool) {
	v := t.verified(sd.wrong)
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

// badness orders verdicts: ok, not verified, wrong, more wrong.
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

// verified reads the last cell of a side: a number of wrong elements, or in old
// logs the largest error.
func (t *test) verified(cell string) record.Verified {
	unknown := func(reason string) record.Verified {
		return record.Verified{State: record.NotVerified, Reason: reason}
	}
	zero := int64(0)
	marked := strings.HasSuffix(cell, "*")
	n, ok := parseNumber(strings.TrimSuffix(cell, "*"))
	switch {
	case cell == "":
		return unknown("log has no column of errors")
	case cell == "N/A":
		return unknown("log says N/A")
	case !t.layout.maxError && ok && n.v == math.Trunc(n.v):
		wrong := int64(n.v)
		if wrong == 0 && !marked {
			return record.Verified{State: record.VerifiedOK, Wrong: &zero}
		}
		return record.Verified{State: record.VerifiedWrong, Wrong: &wrong}
	case marked:
		return record.Verified{State: record.VerifiedWrong, Reason: "the largest error, " + cell + ", is marked as above the threshold"}
	case !t.layout.maxError:
		return unknown("log's number of wrong elements is " + cell)
	case t.outOfBounds == nil:
		return unknown("log gives a largest error and no verdict")
	case *t.outOfBounds == 0 || t.asterisk:
		return record.Verified{State: record.VerifiedOK, Wrong: &zero}
	}
	return unknown("log counts failed checks and does not say in which rows")
}
