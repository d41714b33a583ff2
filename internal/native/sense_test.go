package native

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The library of management is asked by the PCI address: base units come back, and what lowers
// the clock. What it refuses is zero, and so is everything without it.
func TestToolchainSense(t *testing.T) {
	Toolchain(t)
	dir := t.TempDir()
	source := filepath.Join(dir, "ml.c")
	require.NoError(t, os.WriteFile(source, []byte(`#include <string.h>
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, void **d) {
  *d = (void *)pci;
  return strcmp(pci, "0000:05:00.0") == 0 ? 0 : 6;
}
int nvmlDeviceGetPowerUsage(void *d, unsigned *mw) { return (*mw = 698500, d == 0); }
int nvmlDeviceGetEnforcedPowerLimit(void *d, unsigned *mw) { return (*mw = 700000, d != 0); }
int nvmlDeviceGetTemperature(void *d, int sensor, unsigned *c) { return (*c = 87, d == 0 || sensor != 0); }
int nvmlDeviceGetCurrentClocksThrottleReasons(void *d, unsigned long long *bits) { return (*bits = 0x24, d == 0); }
`), 0o600))
	out, err := exec.Command("cc", "-shared", "-fPIC", "-o", filepath.Join(dir, "libnvidia-ml.so.1"), source).CombinedOutput() //nolint:gosec // a test's own arguments
	require.NoError(t, err, "%s", out)
	p := &Provider{}
	sensed := func(pci string) [4]float64 {
		watts, limit, celsius, lowered := p.Sense(pci)
		return [4]float64{watts, limit, celsius, float64(lowered)}
	}
	require.Zero(t, sensed("0000:05:00.0"))
	f, err := newFinder(Choice{Backend: "cuda", Named: map[string]string{SettingFolders: dir}})
	require.NoError(t, err)
	defer f.end()
	p.openSensors(f)
	require.Equal(t, [4]float64{698.5, 0, 87, float64(LoweredByHeat | LoweredByPower)}, sensed("0000:05:00.0"))
	require.Zero(t, sensed("0000:06:00.0"))
	p.closeSensors()
}
