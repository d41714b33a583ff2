package native_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/native"
)

// An allocation that fails on a device with enough memory met a limit of the process:
// no process can have 2^60 bytes of addresses.
func TestLimitOfTheProcessIsNamed(t *testing.T) {
	const most = "1152921504606846976"
	big := regexp.MustCompile(`(?m)^hbm_bytes .*$`).ReplaceAll(machine(t, 2), []byte("hbm_bytes "+most))
	p, err := native.Open(native.Options{Backend: "loopback", Machine: big})
	require.NoError(t, err)
	defer p.Close()
	_, err = p.Alloc(1, 1<<59)
	var call *native.CallError
	require.ErrorAs(t, err, &call)
	require.ErrorContains(t, err, "allocate 576460752303423488 bytes on device 1")
	require.ErrorContains(t, err, "the device has "+most+" bytes free")
	require.ErrorContains(t, err, "ulimit -v")
	_, err = p.Alloc(1, 1<<61)
	require.ErrorContains(t, err, "out of memory (code 2)", "there the device is what lacks it")
}
