package exit

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/finding"
)

// Of two codes the one that comes first in the order applies, whichever is met first.
func TestOrder(t *testing.T) {
	order := []int{Interrupted, WrongData, Run, Regression, Want, OK}
	for i, first := range order {
		for _, second := range order[i:] {
			require.Equal(t, first, worse(first, second))
			require.Equal(t, first, worse(second, first))
			require.Equal(t, first, CodeOf(Worst(Quiet(second), Quiet(first))))
		}
	}
	require.Len(t, Table(), 8)
	require.Equal(t, 139, worse(139, Interrupted), "a code of another program is not hidden")
}

func TestOf(t *testing.T) {
	slow := finding.Finding{Code: "slow", Severity: finding.Fault}
	among := finding.Finding{Code: "late", Severity: finding.Fault, Candidates: []finding.Subject{{Name: "a"}, {Name: "b"}}}
	is := func(code string, s finding.Severity) finding.Finding { return finding.Finding{Code: code, Severity: s} }
	wrong, hang := is(finding.CodeWrongData, finding.Fault), is(finding.CodeHang, finding.Fault)
	for name, x := range map[string]struct {
		state finding.State
		list  finding.List
		want  int
	}{
		"nothing":                     {finding.Pass, nil, OK},
		"gates alone":                 {"", finding.List{slow, wrong}, OK},
		"a fault":                     {finding.Pass, finding.List{slow}, Regression},
		"faulty":                      {finding.Faulty, nil, Regression},
		"candidates":                  {finding.Pass, finding.List{among}, Want},
		"candidates and a fault":      {finding.Unclear, finding.List{among, slow}, Regression},
		"unclear":                     {finding.Unclear, nil, Want},
		"not checked":                 {finding.NotChecked, nil, Want},
		"below a reference":           {finding.Pass, finding.List{is("below_reference", finding.Warning)}, OK},
		"not verified":                {finding.Pass, finding.List{is(finding.CodeNotChecked, finding.Warning)}, OK},
		"a hang and a fault":          {finding.Pass, finding.List{slow, hang}, Run},
		"a failure":                   {finding.Pass, finding.List{is(finding.CodeFailed, finding.Fault)}, Run},
		"nothing measured":            {finding.Pass, finding.List{is(finding.CodeFailed, finding.Warning)}, Run},
		"wrong data and a hang":       {finding.Pass, finding.List{hang, wrong}, WrongData},
		"interrupted with wrong data": {finding.Pass, finding.List{wrong, is(finding.CodeInterrupted, finding.Warning)}, Interrupted},
		"a lost process":              {finding.Pass, finding.List{is(finding.CodeInterrupted, finding.Fault)}, Run},
	} {
		require.Equal(t, x.want, Of(x.state, x.list), name)
	}
}

// The code of an error; the message of another one goes with a code whose reason was already printed.
func TestErrors(t *testing.T) {
	require.NoError(t, Worst())
	require.NoError(t, Worst(nil, Quiet(OK)))
	for want, err := range map[int]error{
		OK: nil, Run: errors.New("x"), Unavailable: fmt.Errorf("x: %w", ErrUnavailable), Interrupted: fmt.Errorf("x: %w", context.Canceled),
		Usage: fmt.Errorf("x: %w", Usagef("", "y")), Want: Quiet(Want),
	} {
		require.Equal(t, want, CodeOf(err))
	}
	err := Worst(With(Want, errors.New("no bucket size"), "mend it"), Quiet(Regression))
	require.Equal(t, Regression, CodeOf(err))
	require.EqualError(t, err, "no bucket size")
	e, _ := errors.AsType[*Error](err)
	require.Equal(t, "mend it", e.Hint)
	require.EqualError(t, Worst(With(Run, errors.New("lost"), ""), With(WrongData, errors.New("wrong"), "")), "wrong")
}
