package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/hardware/policy"
)

// Each setting is in the words and, if it changes times, in the key; without settings both are empty.
func TestCallsAreNamed(t *testing.T) {
	require.Empty(t, policy.Calls{Aggregate: 1}.CallsText()+policy.Calls{}.Key())
	for want, c := range map[string]policy.Calls{
		"captured into a graph that is replayed 3 times;/G3":    {GraphLaunches: 3},
		"4 launches in a group;/m4":                             {Aggregate: 4},
		"host waits for each launch and meets the others;/z1":   {Blocking: 1},
		"host waits for each launch;/z2":                        {Blocking: 2},
		"non-blocking init;":                                    {NonBlocking: true},
		"fine-grained memory;/fine":                             {MemoryType: policy.Fine},
		"compute units 000000ff,00000001;/cu-000000ff-00000001": {CUMask: "000000ff,00000001"},
		"4 launches in a group, fine-grained memory;/m4/fine":   {Aggregate: 4, MemoryType: policy.Fine},
	} {
		require.Equal(t, want, c.CallsText()+";"+c.Key())
	}
}

func TestMaskIsRead(t *testing.T) {
	for given, want := range map[string]string{"ff": "000000ff", "0xFF, 1": "000000ff,00000001", "0,ffffffff": "00000000,ffffffff"} {
		got, err := policy.ReadMask(given)
		require.NoError(t, err, given)
		require.Equal(t, want, got)
	}
	for given, want := range map[string]string{"": "not a hexadecimal word", "100000000": "32 bits", "g": `"g"`, "0,0": "no compute unit", "1,": `""`} {
		_, err := policy.ReadMask(given)
		require.ErrorContains(t, err, want, given)
	}
	require.Equal(t, []uint32{255, 1}, policy.Calls{CUMask: "000000ff,00000001"}.Mask())
	require.Empty(t, policy.Calls{}.Mask())
}

func TestCallsAreChecked(t *testing.T) {
	window := policy.All([]string{policy.None, policy.Window}, nil)
	for want, c := range map[string]policy.Calls{
		"at least 1": {Aggregate: -1}, "0, 1 or 2": {Blocking: 3}, "-z and -G": {Blocking: 2, GraphLaunches: 1},
		"memory_type": {MemoryType: "host"}, "cu_mask": {CUMask: "ff"}, "--register": {MemoryType: policy.Fine},
	} {
		require.ErrorContains(t, c.CheckCalls(window), want)
	}
	require.NoError(t, policy.Calls{MemoryType: policy.Fine, Aggregate: 2, Blocking: 1, CUMask: "000000ff"}.CheckCalls(policy.All(nil, nil)))
}

// A missing function is named with the flag that needs it.
func TestLackingFunctionsAreNamed(t *testing.T) {
	all := policy.Calls{GraphLaunches: 1, NonBlocking: true, MemoryType: policy.Fine, CUMask: "00000001"}
	for symbol, want := range map[string]string{
		"graphLaunch": "-G", "commInitConfig": "--nonblocking", "commGetAsyncError": "--nonblocking", "extMalloc": "--memory_type fine", "streamWithMask": "--cumask",
	} {
		flag, lacks := all.Lacking(func(s string) bool { return s != symbol })
		require.Equal(t, [2]string{want, symbol}, [2]string{flag, lacks})
	}
	flag, symbol := all.Lacking(func(string) bool { return true })
	require.Empty(t, flag+symbol)
	flag, symbol = policy.Calls{Aggregate: 2, Blocking: 1}.Lacking(func(string) bool { return false })
	require.Empty(t, flag+symbol)
}
