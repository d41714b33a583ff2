package rendezvous

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/test/mutate"
)

// Whatever text arrives, decoding ends with a message that keeps to its limits, or with
// a refusal; what is accepted reads back the same.
func TestChangedMessages(t *testing.T) {
	mutate.Each(t, 1, 5000, []string{
		`{"protocol":3,"session":"s","process":1,"processes":2,"local_process":1,"host":"h","pid":3,"build":"1","backend":"loopback"}`,
		`{"protocol":3,"session":"s","via":1,"process":-1}`,
		`{"number":3,"reports":[{"process":1,"report":{"protocol":1}}]}`,
		`{"number":3,"joined":[{"processes":[1,2],"seconds":"je21oPfGsD6N7bWg98bAPg==","hold":1e-5,"started_early":true}]}`,
		`{"lost":[{"process":5,"why":"left"}],"stop":[1,2]}`,
		`{"start":"go"}`,
		`{"number":1,"order":{"protocol":1,"do":"budget"}}{}`,
		`{"cancel":"c","end":"e"}`,
	}, func(t *testing.T, message string) {
		text := []byte(message)
		if r, no := readRegistration(text); no == nil {
			require.Equal(t, Protocol, r.Protocol)
			require.NotEmpty(t, r.Session)
			require.LessOrEqual(t, len(r.Host), maxName)
			again(t, r, func(text []byte) (registration, error) {
				r, no := readRegistration(text)
				if no != nil {
					return r, no
				}
				return r, nil
			})
		} else {
			require.NotEmpty(t, no.Text)
		}
		if u, err := readUp(text); err == nil {
			again(t, u, readUp)
		}
		if d, err := readDown(text); err == nil {
			again(t, d, readDown)
		}
	})
}

func again[M any](t *testing.T, m M, read func([]byte) (M, error)) {
	t.Helper()
	text, err := line(m)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(text), "\n"), "one line")
	back, err := read(text)
	require.NoError(t, err)
	once, err := json.Marshal(m)
	require.NoError(t, err)
	twice, err := json.Marshal(back)
	require.NoError(t, err)
	require.JSONEq(t, string(once), string(twice))
}

// A token shows in no output. Equal tokens give equal keys; the two ends have different
// ones.
func TestToken(t *testing.T) {
	token := NewToken()
	require.NotEqual(t, token, NewToken())
	again, err := ParseToken(" " + token.Reveal() + "\n")
	require.NoError(t, err)
	require.Equal(t, token, again)
	var logged strings.Builder
	slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "token", token, "options", Member{Token: token})
	text, err := json.Marshal(map[string]any{"t": token, "o": &token})
	require.NoError(t, err)
	for _, shown := range []string{
		fmt.Sprint(token), fmt.Sprintf("%v %+v %#v %s %q %x %d", token, token, token, token, token, token, token),
		fmt.Sprintf("%+v %#v", Member{Token: token}, &Member{Token: token}), logged.String(), string(text),
	} {
		require.NotContains(t, shown, token.Reveal())
		require.NotContains(t, shown, fmt.Sprintf("%x", token.Reveal()))
	}
	a, err := token.key(leading)
	require.NoError(t, err)
	b, err := again.key(leading)
	require.NoError(t, err)
	c, err := token.key(following)
	require.NoError(t, err)
	require.Equal(t, a, b)
	require.NotEqual(t, a, c)
	require.NotEqual(t, token.LocalAddress("node1"), token.LocalAddress("node2"))
	require.Equal(t, token.LocalAddress("node1"), again.LocalAddress("node1"))
	require.NotEqual(t, token.LocalAddress("node1"), NewToken().LocalAddress("node1"))
}

// A token that is missing is told from one that launch refuses; neither is quoted.
func TestBadTokens(t *testing.T) {
	for text, want := range map[string]string{
		"": "ZBENCH_TOKEN is not set", "   ": "ZBENCH_TOKEN is not set",
		"hunter2secret": "ZBENCH_TOKEN is not a secret of zbench: it has 64 hexadecimal digits; make one with zbench token",
	} {
		_, err := ParseToken(text)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hunter2")
	}
	_, err := Serve(t.Context(), Member{Self: Hello{Processes: 1}})
	require.ErrorContains(t, err, "no token was given")
}
