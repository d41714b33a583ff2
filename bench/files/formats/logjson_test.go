package formats

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/files/peers"
	"zbench/test/project"
)

// collected are forms in which collectors keep lines of text.
var collected = map[string]func(lines []string) string{
	"docker": func(lines []string) (text string) {
		for _, l := range lines {
			text += object("log", l+"\n", "stream", "stdout", "time", "2026-02-16T10:00:00Z") + "\n"
		}
		return text
	},
	"docker, split": func(lines []string) (text string) {
		for _, l := range lines {
			text += object("log", l[:len(l)/2], "stream", "stdout") + "\n" + object("log", l[len(l)/2:]+"\n", "stream", "stdout") + "\n"
		}
		return text
	},
	"journald": func(lines []string) (text string) {
		for _, l := range lines {
			text += object("MESSAGE", l, "_PID", "12", "__REALTIME_TIMESTAMP", "1771236000000000") + "\n"
		}
		return text
	},
	"cloudwatch": func(lines []string) string {
		text := ""
		for i, l := range lines {
			text += fmt.Sprintf(`,{"timestamp":%d,"message":%s,"ingestionTime":1}`, i, quote(l))
		}
		return `{"events":[` + text[1:] + `],"nextForwardToken":"f/1"}`
	},
	"loki, newest first": func(lines []string) string {
		text := ""
		for i, l := range slices.Backward(lines) {
			text += fmt.Sprintf(`,["%d",%s]`, i, quote(l))
		}
		return `{"status":"success","data":{"result":[{"stream":{"pod":"a"},"values":[` + text[1:] + `]}]}}`
	},
	"elastic": func(lines []string) string {
		text := ""
		for _, l := range lines {
			text += `,{"_id":"x","_source":{"host":{"name":"a"},"message":` + quote("2026-02-16T10:00:00Z stdout F "+l) + `}}`
		}
		return `{"took":3,"hits":{"hits":[` + text[1:] + `]}}`
	},
	"a list": func(lines []string) string { text, _ := json.Marshal(lines); return string(text) },
}

func quote(text string) string { out, _ := json.Marshal(text); return string(out) }

func object(pairs ...string) string {
	text := ""
	for i := 0; i < len(pairs); i += 2 {
		text += "," + quote(pairs[i]) + ":" + quote(pairs[i+1])
	}
	return "{" + text[1:] + "}"
}

// Whatever keeps the lines of a log as JSON, the rows are those of the log.
func TestCollectedLogs(t *testing.T) {
	text := project.Read(t, "testdata/logs/nccl219.log")
	want, _, err := Curves("plain.log", strings.NewReader(text), peers.Hints{})
	require.NoError(t, err)
	for name, form := range collected {
		got, _, err := Curves("log", strings.NewReader(form(strings.Split(strings.TrimSuffix(text, "\n"), "\n"))), peers.Hints{})
		require.NoError(t, err, name)
		require.Equal(t, want[0].Results, got[0].Results, name)
		require.Equal(t, want[0].World, got[0].World, name)
	}
	_, _, err = Curves("log", strings.NewReader(object("log", "# Using devices\n")), peers.Hints{})
	require.ErrorContains(t, err, "no string of this JSON has the column names")
	_, _, err = Curves("log", strings.NewReader(`{"a":"# Using devices","b":`+strings.Repeat("[", 100)), peers.Hints{})
	require.ErrorContains(t, err, "nested")
}
