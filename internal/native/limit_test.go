package native_test

import (
	"fmt"
	"os"
	"regexp"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/native"
)

// limitAddresses lets this process have so many more bytes of addresses until the
// test ends.
func limitAddresses(t *testing.T, more uint64) {
	t.Helper()
	var old syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_AS, &old))
	text, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	var pages uint64
	_, err = fmt.Sscan(string(text), &pages)
	require.NoError(t, err)
	limit := old
	limit.Cur = min(old.Max, pages*uint64(os.Getpagesize())+more)
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_AS, &limit))
	t.Cleanup(func() { require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_AS, &old)) })
}

// An allocation that fails on a device with enough memory met a limit of the
// process.
func TestLimitOfTheProcessIsNamed(t *testing.T) {
	const memory = "4398046511104" // 4 TiB
	big := regexp.MustCompile(`(?m)^hbm_bytes .*$`).ReplaceAll(machine(t, 2), []byte("hbm_bytes "+memory))
	p, err := native.Open(native.Choice{Backend: "loopback", Machine: big})
	require.NoError(t, err)
	defer p.Close()
	limitAddresses(t, 1<<40)
	_, err = p.Alloc(1, 1<<41)
	var call *native.CallError
	require.ErrorAs(t, err, &call)
	require.ErrorContains(t, err, "allocate 2199023255552 bytes on device 1")
	require.ErrorContains(t, err, "the device has "+memory+" bytes free")
	require.ErrorContains(t, err, "ulimit -v")
	_, err = p.Alloc(1, 1<<43)
	require.ErrorContains(t, err, "out of memory (code 2)", "there the device is what lacks it")
	require.NotContains(t, err.Error(), "ulimit")
}
