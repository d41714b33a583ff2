package backend

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/test/project"
)

// Rows are whole, and no flag, variable or node is two vendors'.
func TestRowsAreWhole(t *testing.T) {
	seen := map[string]string{}
	once := func(of string, words ...string) {
		for _, w := range words {
			require.NotEmpty(t, w, of)
			require.Empty(t, seen[w], "%s is of %s and of %s", w, seen[w], of)
			seen[w] = of
		}
	}
	for _, v := range Vendors() {
		once(v.Backend, v.Backend, v.Root.Flag, v.Node, v.DriverName, v.DriverFile, v.Tool, v.ArchOption, v.Product)
		once(v.Backend, v.Root.Variables...)
		once(v.Backend, v.Hiding...)
		once(v.Backend, v.Prefixes...)
		roles := map[Role]bool{}
		for _, l := range v.Libraries {
			once(v.Backend, l.Flag)
			once(v.Backend, l.Names...)
			once(v.Backend, l.Variables...)
			require.Equal(t, v.Backend, l.Backend)
			require.False(t, roles[l.Role], l.Role)
			roles[l.Role] = true
		}
		for _, role := range []Role{Collectives, Runtime, Compiler} {
			require.True(t, roles[role], "%s has no %s", v.Backend, role)
		}
		require.NotEmpty(t, v.Waves)
		require.Positive(t, v.Stream.Block)
		require.NotEmpty(t, v.Version(60000000))
	}
	require.Equal(t, []string{Loopback, "rocm", "cuda"}, Names()[:3])
	require.Equal(t, "rocm", Like(Loopback).Backend, "the loopback has HIP's names")
}

// What differs between vendors is in their rows: other Go names none to act differently.
func TestNoOtherFileNamesABackend(t *testing.T) {
	of := Names()[1:]
	all := strings.Join(of, "|")
	named := regexp.MustCompile(`"(` + all + `)"|C\.ZB_(` + strings.ToUpper(all) + `)\b`)
	allowed := map[string]bool{
		"cmd/zbench/loopback.go":      true, // the loopback has HIP's names alone
		"internal/native/recorded.go": true, // the rows of the loopback, in any column
	}
	for _, name := range of {
		allowed["bench/hardware/backend/"+name+".go"] = true
	}
	project.Sources(t, []string{".go"}, func(rel string, text []byte) {
		require.False(t, named.Match(text) && !allowed[rel], rel)
	})
}
