package peers

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRedact(t *testing.T) {
	for text, want := range map[string]string{
		"/home/jane.doe/rocm/lib/librccl.so.1":                "~/rocm/lib/librccl.so.1",
		"/mnt/nfs-1/home/jdoe/librccl.so.1":                   "~/librccl.so.1",
		"/Users/jdoe/x":                                       "~/x",
		"/opt/rocm-6.4.2/lib/librccl.so.1":                    "/opt/rocm-6.4.2/lib/librccl.so.1",
		"/shared/apps/opt/rocm/lib/librccl.so.1":              "/shared/apps/opt/rocm/lib/librccl.so.1",
		"NCCL WARN dlopen(/home/jdoe/a.so:/home/mary/b.so) x": "NCCL WARN dlopen(~/a.so:~/b.so) x",
		"/home":                           "/home",
		"/homework/librccl.so":            "/homework/librccl.so",
		"cat \"/home/jdoe\" and the rest": "cat \"~\" and the rest",
	} {
		require.Equal(t, want, redact(text))
	}
}

// A log's user is nowhere in its record.
func TestUserOfALogIsNotInTheRecord(t *testing.T) {
	log := strings.Replace(text(t, "hipevt.log"), "/opt/rocm/lib/librccl.so.1", "/home/jdoe/rccl/build/librccl.so.1", 1)
	log += "\nnode1: Test NCCL failure /home/jdoe/rccl-tests/src/common.cu:1 'x'\n"
	rec := parseText(t, log, Hints{})
	require.Equal(t, "~/rccl/build/librccl.so.1", rec.Source.Libraries[0].Path)
	var b strings.Builder
	require.NoError(t, rec.WriteJSON(&b))
	require.Contains(t, b.String(), "~/rccl-tests/src/common.cu")
	require.NotContains(t, b.String(), "jdoe")
}
