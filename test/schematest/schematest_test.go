package schematest_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/test/schematest"
)

const good = `{"type":"object","additionalProperties":false,"required":["kind","n","list","one"],"properties":{
"kind":{"type":"string","enum":["a","b"]},"n":{"type":"integer","minimum":0},"list":{"type":"array","items":{"$ref":"#/$defs/inner"}},
"one":{"anyOf":[{"$ref":"#/$defs/inner"},{"type":"null"}]},"note":{"type":"array","items":{"type":"string"}}},
"$defs":{"inner":{"type":"object","additionalProperties":false,"required":["rate"],"properties":{"rate":{"type":["number","null"],"minimum":0}}}}}`

const document = `{"kind":"a","n":3,"list":[{"rate":1.5}],"one":{"rate":2},"note":["x"]}`

// recorder is a test that may fail without this one failing.
type recorder struct {
	testing.TB
	said string
}

func (r *recorder) Helper()                        {}
func (r *recorder) Errorf(format string, a ...any) { r.said += fmt.Sprintf(format, a...) }
func (r *recorder) FailNow()                       { runtime.Goexit() }

func check(t *testing.T, what func(t testing.TB)) string {
	t.Helper()
	if testing.Short() {
		t.Skip("what is checked here is skipped, too")
	}
	r, done := &recorder{TB: t}, make(chan bool)
	go func() {
		defer close(done)
		what(r)
	}()
	<-done
	return r.said
}

// A change that is accepted is seen, and a keyword that no change meets.
func TestAcceptedChangesAreSeen(t *testing.T) {
	refuses := func(bad map[string]string) string {
		return check(t, func(t testing.TB) { schematest.Refuses(t, []byte(good), schematest.Changes{Good: document, Bad: bad}) })
	}
	require.Empty(t, refuses(map[string]string{"/kind": `"c" ""`}))
	require.Contains(t, refuses(map[string]string{"/kind": `"b"`}), "/kind = b is accepted")
	require.Contains(t, refuses(map[string]string{"/list/0/rate": `-1`}), "/properties/kind/enum")
	require.Contains(t, refuses(map[string]string{"/list/1/rate": `-1`}), "the list has 1 values")
	require.Contains(t, refuses(map[string]string{"/none/rate": `-1`}), "leads nowhere")
}
