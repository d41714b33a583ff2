package schematest_test

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/schematest"
)

type inner struct {
	Rate *float64 `json:"rate"`
}

type outer struct {
	Schema string   `json:"schema"`
	List   []inner  `json:"list"`
	One    *inner   `json:"one"`
	Note   []string `json:"note,omitempty"`
	Inside int      `json:"-"`
}

const good = `{"additionalProperties":false,"required":["schema","list","one"],"properties":{
"schema":{"const":"x/1","description":"d"},"list":{"type":"array","description":"d","items":{"$ref":"#/$defs/inner"}},
"one":{"description":"d","anyOf":[{"$ref":"#/$defs/inner"},{"type":"null"}]},"note":{"type":"array","items":{"type":"string"},"description":"d"}},
"$defs":{"inner":{"additionalProperties":false,"required":["rate"],"properties":{"rate":{"type":["number","null"],"description":"r"}}}}}`

// recorder is a test that may fail without this one failing.
type recorder struct {
	testing.TB
	said string
}

func (r *recorder) Helper()                        {}
func (r *recorder) Errorf(format string, a ...any) { r.said += fmt.Sprintf(format, a...) }
func (r *recorder) FailNow()                       { runtime.Goexit() }

func check(t *testing.T, schema string) string {
	t.Helper()
	r, done := &recorder{TB: t}, make(chan bool)
	go func() {
		defer close(done)
		schematest.IsTheGoType(r, []byte(schema), "x/1", reflect.TypeFor[outer]())
	}()
	<-done
	return r.said
}

// Each way in which a schema and its type can differ is seen.
func TestDifferencesAreSeen(t *testing.T) {
	require.Empty(t, check(t, good))
	for name, change := range map[string][2]string{
		"another version":         {`x/1`, `x/2`},
		"open":                    {`{"additionalProperties":false,"required":["rate"]`, `{"required":["rate"]`},
		"a field is missing":      {`,"note":{"type":"array","items":{"type":"string"},"description":"d"}`, ``},
		"one too many":            {`"rate":{`, `"more":{"description":"d"},"rate":{`},
		"not described":           {`"description":"r"`, `"description":""`},
		"another kind":            {`["number","null"]`, `"integer"`},
		"another kind inside":     {`{"type":"string"}`, `{"type":"number"}`},
		"a list without its kind": {`"items":{"type":"string"},`, ``},
		"not required":            {`,"one"],`, `],`},
		"never null":              {`,{"type":"null"}`, ``},
		"a definition too many":   {`"$defs":{`, `"$defs":{"more":{},`},
		"a definition missing":    {`"$defs":{"inner"`, `"$defs":{"other"`},
	} {
		bad := strings.Replace(good, change[0], change[1], 1)
		require.NotEqual(t, good, bad, name)
		require.NotEmpty(t, check(t, bad), name)
	}
}
