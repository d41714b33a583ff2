package rendezvous_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/plan"
	"zbench/internal/rendezvous"
	"zbench/test/longtest"
)

// raw is process 1 of a world of three, which writes any lines.
type raw struct {
	t     *testing.T
	lines *bufio.Scanner
	out   io.Writer
	close func()
}

func register(t *testing.T, o rendezvous.Member) raw {
	t.Helper()
	near, err := o.Dial(t.Context(), "tcp", o.Address)
	require.NoError(t, err)
	c := tls.Client(near, rendezvous.ClientConfig(o.Token))
	text, err := json.Marshal(o.Self)
	require.NoError(t, err)
	_, err = fmt.Fprintf(c, "{\"protocol\":%d,\"session\":\"raw\",%s\n", rendezvous.Protocol, text[1:])
	require.NoError(t, err)
	r := raw{t, bufio.NewScanner(c), c, func() {
		_, _ = io.WriteString(c, "{}\n")
		_, _ = io.Copy(io.Discard, c)
		_ = c.Close()
	}}
	require.Equal(t, "{}", r.next())
	return r
}

func (r raw) next() string {
	require.True(r.t, r.lines.Scan())
	return r.lines.Text()
}

// A registered process that sends what it should not harms no report of another. Each
// message is refused and counted.
func TestLongMisbehavingProcess(t *testing.T) {
	longtest.OnlyOrDetected(t)
	const good = `{"protocol":13,"budget":{"bytes":7},"verified":{"Wrong":0,"First":""}}`
	unreadable := func(text string) func(t *testing.T, r plan.Report) {
		return func(t *testing.T, r plan.Report) {
			require.Equal(t, plan.FailedOrder, r.Failure.Kind)
			require.Contains(t, r.Failure.Message, text)
		}
	}
	well := func(t *testing.T, r plan.Report) {
		require.Nil(t, r.Failure)
		require.Equal(t, int64(7), r.Budget.Bytes)
	}
	report := func(process int, text string) string {
		return fmt.Sprintf(`{"number":1,"reports":[{"process":%d,"report":%s}]}`, process, text)
	}
	for name, c := range map[string]struct {
		lines   []string
		check   func(t *testing.T, r plan.Report)
		refused map[rendezvous.Reason]int
	}{
		"well":             {[]string{report(1, good)}, well, nil},
		"not JSON":         {[]string{"hello"}, unreadable("a message cannot be read"), map[rendezvous.Reason]int{rendezvous.Malformed: 1}},
		"unknown field":    {[]string{`{"number":1,"shutdown":true}`}, unreadable("shutdown"), map[rendezvous.Reason]int{rendezvous.Malformed: 1}},
		"other protocol":   {[]string{report(1, `{"protocol":99}`)}, unreadable("protocol 99"), map[rendezvous.Reason]int{rendezvous.Malformed: 1}},
		"negative":         {[]string{report(1, `{"protocol":13,"budget":{"bytes":-7}}`)}, unreadable("negative"), map[rendezvous.Reason]int{rendezvous.Malformed: 1}},
		"for another":      {[]string{report(2, good), report(1, good)}, well, map[rendezvous.Reason]int{rendezvous.NotExpected: 1}},
		"for the leader":   {[]string{report(0, good), report(1, good)}, well, map[rendezvous.Reason]int{rendezvous.NotExpected: 1}},
		"for no process":   {[]string{report(-5, good), report(1, good)}, well, map[rendezvous.Reason]int{rendezvous.NotExpected: 1}},
		"twice":            {[]string{report(1, good), report(1, `{"protocol":13}`)}, well, map[rendezvous.Reason]int{rendezvous.NotExpected: 1}},
		"another order":    {[]string{strings.Replace(report(1, `{"protocol":13}`), `"number":1`, `"number":2`, 1), report(1, good)}, well, map[rendezvous.Reason]int{rendezvous.NotExpected: 1}},
		"times, well":      {[]string{`{"number":1,"joined":[{"processes":[1],"seconds":"AAAAAAAA8D8="}]}`}, func(t *testing.T, r plan.Report) { require.Equal(t, plan.Times{1}, r.Seconds) }, nil},
		"times of another": {[]string{`{"number":1,"joined":[{"processes":[1,2]}]}`, report(1, good)}, well, map[rendezvous.Reason]int{rendezvous.NotExpected: 1}},
		"times of none":    {[]string{`{"number":1,"joined":[{"processes":[]}]}`}, unreadable("reports of 0 processes"), map[rendezvous.Reason]int{rendezvous.Malformed: 1}},
		"times twice":      {[]string{`{"number":1,"joined":[{"processes":[1,1]}]}`}, unreadable("they must ascend"), map[rendezvous.Reason]int{rendezvous.Malformed: 1}},
		"half a time":      {[]string{`{"number":1,"joined":[{"processes":[1],"seconds":"AAAA"}]}`}, unreadable("a time has 8"), map[rendezvous.Reason]int{rendezvous.Malformed: 1}},
		"negative hold":    {[]string{`{"number":1,"joined":[{"processes":[1],"hold":-1}]}`}, unreadable("a hold of -1 s"), map[rendezvous.Reason]int{rendezvous.Malformed: 1}},
		"too many times":   {[]string{`{"number":1,"joined":[{"processes":[1],"seconds":"` + strings.Repeat("AAAAAAAA8D8A", plan.MaxReport/8) + `"}]}`}, unreadable("the limit of each is 2097152"), map[rendezvous.Reason]int{rendezvous.Malformed: 1}},
		"loss of another":  {[]string{`{"lost":[{"process":2,"why":"I say so"}]}`, report(1, good)}, well, map[rendezvous.Reason]int{rendezvous.NotExpected: 1}},
		"stop of another":  {[]string{`{"stop":[2]}`, report(1, good)}, well, map[rendezvous.Reason]int{rendezvous.NotExpected: 1}},
		"report too large": {[]string{report(1, `"`+strings.Repeat("x", plan.MaxReport)+`"`)}, unreadable("the limit is 2097152"), map[rendezvous.Reason]int{rendezvous.Malformed: 1}},
		"line too large":   {[]string{strings.Repeat(" ", 17*plan.MaxReport)}, unreadable("a message has more than 33554432 bytes"), map[rendezvous.Reason]int{rendezvous.TooLarge: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				options := inMemory(t, 3, nil)
				o := options(0)
				o.OnStop = func(int) { t.Error("no process was asked to stop") }
				l, err := rendezvous.Serve(t.Context(), o)
				require.NoError(t, err)
				two := joined(t, options(2))
				one := register(t, options(1))
				require.NoError(t, l.Wait(t.Context()))
				require.NoError(t, l.Start("go"))
				require.JSONEq(t, `{"start":"go"}`, one.next())
				l.Send(plan.Order{Verb: plan.AskBudget{}})
				require.JSONEq(t, `{"number":1,"order":{"protocol":13,"do":"budget","with":{}}}`, one.next())
				var text bytes.Buffer
				for _, line := range c.lines {
					text.WriteString(line + "\n")
				}
				go func() { _, _ = one.out.Write(text.Bytes()) }()
				time.Sleep(time.Second)
				f := <-two
				_, err = f.Next()
				require.NoError(t, err)
				require.NoError(t, f.Report(plan.Report{Budget: plan.Room{Bytes: 9}}))
				reports := l.Reports(plan.Report{})
				c.check(t, reports[0])
				require.Nil(t, reports[1].Failure)
				require.Equal(t, int64(9), reports[1].Budget.Bytes)
				counts, _ := l.Refusals()
				if c.refused == nil {
					require.Empty(t, counts)
				} else {
					require.Equal(t, c.refused, counts)
				}
				l.Send(plan.Order{Verb: plan.End{}})
				f.Close()
				one.close()
				l.Close("", 0)
			})
		})
	}
}
