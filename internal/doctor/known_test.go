package doctor

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A version or a setting that is known to be bad is a warning with its source.
func TestKnownIssues(t *testing.T) {
	files := instinct()
	m := machine(files)
	for _, f := range m.Items() {
		require.NotEqual(t, "known issue", f.Name, "%+v", f)
	}
	files["opt/rocm/.info/version"] = "7.1.1-38\n"
	files["sys/module/ionic/"] = ""
	m = machine(files)
	m.Host.Getenv = func(name string) string { return map[string]string{"NCCL_IB_TIMEOUT": "300"}[name] }
	var found []Item
	for _, f := range m.Items() {
		if f.Name == "known issue" {
			found = append(found, f)
		}
	}
	require.Len(t, found, 2)
	require.Equal(t, Warn, found[0].Mark)
	require.Equal(t, "RCCL of ROCm 7.1.1 with Pollara NICs: scatter, all_to_all and all_to_allv are slow (ROCm issue 5717)", found[0].Value)
	require.Equal(t, "update to ROCm 7.2.0 or newer", found[0].Remedy)
}
