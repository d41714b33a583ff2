package launch_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/launch"
)

func TestHostsOf(t *testing.T) {
	for list, want := range map[string][]string{
		"":                         nil,
		"n7":                       {"n7"},
		"a,b":                      {"a", "b"},
		"rack1-n[01-03,20],login":  {"rack1-n01", "rack1-n02", "rack1-n03", "rack1-n20", "login"},
		"gpu[007-009]-ib":          {"gpu007-ib", "gpu008-ib", "gpu009-ib"},
		"r[3,5]n[8-9]":             {"r3n8", "r3n9", "r5n8", "r5n9"},
		"n[98-101]":                {"n98", "n99", "n100", "n101"},
		"mi300x-[1-2].dc.x,other1": {"mi300x-1.dc.x", "mi300x-2.dc.x", "other1"},
	} {
		got, err := launch.HostsOf(list)
		require.NoError(t, err, list)
		require.Equal(t, want, got, list)
	}
	for _, list := range []string{"n[", "n[]", "n[a-b]", "[", ",a", "a]b", "a b", "n[1-2", "n[2-1]", "n[1-99999999]", "n[[1]]", "n[1-999]n[1-999]"} {
		_, err := launch.HostsOf(list)
		require.Error(t, err, list)
	}
}
