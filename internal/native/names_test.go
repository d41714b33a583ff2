package native_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/native"
)

// RCCL calls its all-to-all ncclAllToAll in ROCm/rccl and ncclAlltoAll in
// ROCm/rocm-systems, as NCCL does since 2.28. A library with either name has the call; one with
// neither says so under the first.
func TestEitherNameIsFound(t *testing.T) {
	for name, has := range map[string]bool{"ncclAllToAll": true, "ncclAlltoAll": true, "ncclOther": false} {
		dir := t.TempDir()
		vendorLibrary(t, filepath.Join(dir, "librccl.so.1"), "COLLECTIVES", "ALL_TO_ALL="+name)
		vendorLibrary(t, filepath.Join(dir, "libamdhip64.so.6"), "RUNTIME")
		p, err := native.Open(native.Choice{Backend: "rocm", Named: map[string]string{"lib-path": dir}})
		require.NoError(t, err)
		require.Equal(t, has, p.Has("allToAll"), name)
		missing := map[string]string{}
		for _, m := range searchOf(t, p.Searches(), native.RoleCollectives).Missing {
			missing[m.Field] = m.Name
		}
		if has {
			require.NotContains(t, missing, "allToAll", name)
		} else {
			require.Equal(t, "ncclAllToAll", missing["allToAll"])
		}
		p.Close()
	}
}
