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

// Without the GDR flush data can be wrong on Pollara: the version of RCCL that would be loaded decides, not that of ROCm.
func TestCorruptionIsWarnedOf(t *testing.T) {
	for name, c := range map[string]struct {
		rccl, disable string
		ionic, warned bool
	}{
		"the default of 2.30.4": {rccl: "2.30.4", ionic: true, warned: true},
		"flush on":              {rccl: "2.30.4", ionic: true, disable: "0"},
		"other NICs":            {rccl: "2.30.4"},
		"no RCCL":               {ionic: true},
	} {
		files := instinct()
		if c.ionic {
			files["sys/module/ionic/"] = ""
		}
		m := machine(files)
		m.RCCL = c.rccl
		m.Host.Getenv = func(name string) string { return map[string]string{"NCCL_GDR_FLUSH_DISABLE": c.disable}[name] }
		var found []Item
		for _, f := range m.Items() {
			if f.Name == "known issue" {
				found = append(found, f)
			}
		}
		require.Equal(t, c.warned, len(found) == 1, name)
		if c.warned {
			require.Equal(t, Warn, found[0].Mark)
			require.Contains(t, found[0].Value, "RCCL 2.30.4 runs without the GDR flush over IB-CAST")
			require.Contains(t, found[0].Remedy, "export NCCL_GDR_FLUSH_DISABLE=0")
			require.Contains(t, found[0].Remedy, "270 instead of 330 GB/s")
		}
	}
}
