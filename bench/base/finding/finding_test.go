package finding

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A severity is a word in JSON, and only its own words are read.
func TestSeveritiesAreWords(t *testing.T) {
	for i, word := range Severities() {
		s := Severity(i)
		text, err := json.Marshal(Finding{Code: "c", Severity: s, Text: "t"})
		require.NoError(t, err)
		require.JSONEq(t, `{"code":"c","severity":"`+word+`","text":"t"}`, string(text), "what is not there is absent")
		var back Finding
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, s, back.Severity)
		require.Equal(t, word, s.String())
	}
	require.Error(t, json.Unmarshal([]byte(`{"severity":"bad"}`), &Finding{}))
	_, err := json.Marshal(Finding{Severity: Fault + 1})
	require.Error(t, err)
	require.Equal(t, []string{"note", "ok", "warning", "fault"}, Severities(), "the least first: pages take the worst")
}

// What is unclear or not checked has not passed, and a fault outweighs both.
func TestSettle(t *testing.T) {
	for _, x := range []struct {
		faults, candidates, checked bool
		want                        State
		severity                    Severity
	}{
		{false, false, true, Pass, OK},
		{false, false, false, NotChecked, Warning},
		{false, true, true, Unclear, Warning},
		{false, true, false, Unclear, Warning},
		{true, true, true, Fail, Fault},
		{true, false, false, Fail, Fault},
	} {
		got := Settle(x.faults, x.candidates, x.checked)
		require.Equal(t, x.want, got, "%+v", x)
		require.Equal(t, x.severity, got.Severity(), "%+v", x)
	}
	require.Equal(t, "NOT CHECKED", NotChecked.Word())
	for i, s := range States() {
		require.Equal(t, StatesOfNodes()[i], s.OfNodes())
		require.Equal(t, s.Severity(), s.OfNodes().Severity(), s)
	}
}

func TestLists(t *testing.T) {
	l := List{{Code: "a", Severity: Warning}, {Code: "b", Severity: Fault}, {Code: "a"}}
	require.Equal(t, List{{Code: "b", Severity: Fault}}, l.Faults())
	require.Equal(t, List{{Code: "a", Severity: Warning}, {Code: "a"}}, l.Only("a", "c"))
	require.Len(t, l, 3, "the list stays as it is")
	require.Equal(t, "b", l[1].Code)
	require.Equal(t, Fault, l.Worst())
	require.Equal(t, Note, List{}.Worst())
}

// A fault that is only among candidates is unclear: it names them, and it has not passed.
func TestCandidatesAreUnclear(t *testing.T) {
	among := Finding{Severity: Fault, Candidates: []Subject{{Kind: Node, Name: "node 1"}, {Kind: Node, Name: "node 2"}}}
	warned := Finding{Severity: Warning, Candidates: among.Candidates}
	require.Equal(t, Unclear, List{among}.State(true))
	require.Equal(t, Fail, List{among, {Severity: Fault}}.State(true))
	require.Equal(t, Pass, List{warned, {}}.State(true))
	require.Equal(t, NotChecked, List{warned}.State(false))
}

// The package is a leaf: whatever finds something can import it.
func TestLeaf(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, i := range f.Imports {
			require.NotContains(t, i.Path.Value, "zbench/", name)
		}
	}
}
