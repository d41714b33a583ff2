package schematest_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/test/schematest"
)

type inner struct {
	Rate *float64 `json:"rate"`
}

type outer struct {
	Kind string   `json:"kind"`
	N    int      `json:"n"`
	List []inner  `json:"list"`
	One  *inner   `json:"one"`
	Note []string `json:"note,omitempty"`
}

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

// Each way in which a schema is looser than the type, or stricter, is seen.
func TestLooseSchemasAreSeen(t *testing.T) {
	tight := func(schema, document string) string {
		return check(t, func(t testing.TB) {
			schematest.Tight(t, schematest.Compile(t, []byte(schema)), func() any { return &outer{} }, document)
		})
	}
	require.Empty(t, tight(good, document))
	for name, change := range map[string][2]string{
		"open":                   {`{"type":"object","additionalProperties":false,"required":["rate"]`, `{"type":"object","required":["rate"]`},
		"not required":           {`,"one"],`, `],`},
		"null in a list's place": {`"list":{"type":"array",`, `"list":{"type":["array","null"],`},
		"null where it is left":  {`"note":{"type":"array",`, `"note":{"type":["array","null"],`},
		"any number":             {`,"minimum":0}}}}`, `}}}`},
		"half an integer":        {`"integer"`, `"number"`},
		"any value":              {`"items":{"type":"string"}`, `"items":{}`},
		"another text":           {`"enum":["a","b"]`, `"enum":["b"]`},
		"an unknown field":       {`,"note":{"type":"array","items":{"type":"string"}}`, ``},
	} {
		bad := strings.Replace(good, change[0], change[1], 1)
		require.NotEqual(t, good, bad, name)
		require.NotEmpty(t, tight(bad, document), name)
	}
	require.Contains(t, tight(good, strings.Replace(document, `["x"]`, `[]`, 1)), "outer.Note is empty in every document")
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
