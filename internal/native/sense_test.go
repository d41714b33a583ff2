package native

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/record"
)

// The library of management is asked by the PCI address: base units come back, and what lowers
// the clock in words. What it refuses is zero, and so is everything without it.
func TestSense(t *testing.T) {
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
	require.Equal(t, record.Conditions{}, p.Sense("0000:05:00.0"))
	f, err := newFinder(Choice{Backend: "cuda", Named: map[string]string{SettingFolders: dir}})
	require.NoError(t, err)
	defer f.end()
	p.openSensors(f)
	require.Equal(t, record.Conditions{Power: 698.5, Temperature: 87, LimitedBy: "temperature, power"}, p.Sense("0000:05:00.0"))
	require.Equal(t, record.Conditions{}, p.Sense("0000:06:00.0"))
	p.closeSensors()
}
