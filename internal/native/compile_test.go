package native

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/hardware/backend"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
)

// notes is a cache that counts.
type notes struct {
	kept         map[string][]byte
	hits, stored int
}

func (n *notes) Load(key string) ([]byte, bool) {
	code, ok := n.kept[key]
	if ok {
		n.hits++
	}
	return code, ok
}

func (n *notes) Store(key string, code []byte) {
	n.kept[key] = code
	n.stored++
}

// loopbackMachine is a node of two GPUs.
func loopbackMachine(t *testing.T) []byte {
	t.Helper()
	f, err := fabric.ByName(fabric.Default)
	require.NoError(t, err)
	m, err := f.Resolve(spec.World{Nodes: 1, GPUsPerNode: 2, GPUsPerProcess: 2}, fabric.Conditions{})
	require.NoError(t, err)
	return m.Text()
}

func loopback(t *testing.T, cache CodeCache) *Provider {
	t.Helper()
	p, err := Open(Choice{Backend: "loopback", Machine: loopbackMachine(t), Cache: cache})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

// Compiled code is taken from the cache, unless anything that decides it differs.
func TestCompileOnce(t *testing.T) {
	n := &notes{kept: map[string][]byte{}}
	p := loopback(t, n)
	for device := range 2 {
		for _, defines := range [][]string{nil, {"UNROLL=4"}, {"UNROLL=4"}} {
			m, err := p.LoadModule(device, "verify.hip", defines)
			require.NoError(t, err)
			require.NoError(t, m.Close())
		}
	}
	require.Equal(t, 2, n.stored, "two sets of switches; the second device is of the same kind")
	require.Equal(t, 4, n.hits)
	compile := func(change func(*Compiler, *CompileRequest)) {
		c, r := *p.compiler, CompileRequest{File: "verify.hip", Arch: "gfx942"}
		change(&c, &r)
		_, err := c.Compile(r)
		require.NoError(t, err)
	}
	n.stored = 0
	for i, change := range []func(*Compiler, *CompileRequest){
		func(*Compiler, *CompileRequest) {},
		func(_ *Compiler, r *CompileRequest) { r.Arch = "gfx90a" },
		func(_ *Compiler, r *CompileRequest) { r.File = "delay.hip" },
		func(_ *Compiler, r *CompileRequest) { r.Defines = []string{"A"} },
		func(_ *Compiler, r *CompileRequest) { r.Wave = 32 },
		func(c *Compiler, _ *CompileRequest) { c.version += "1" },
		func(c *Compiler, r *CompileRequest) { c.vendor, r.Arch = backend.Like("cuda"), "sm_90" },
	} {
		compile(change)
		compile(change)
		require.Equal(t, i+1, n.stored, "change %d is a key of its own, and only one", i)
	}
}

func TestOptionsByVendor(t *testing.T) {
	c := &Compiler{vendor: backend.Like("rocm")}
	require.Equal(t, []string{"-std=c++17", "-O3", "--offload-arch=gfx942", "-DZB_WAVE=64", "-DNT=1"},
		c.options(CompileRequest{Arch: "gfx942", Defines: []string{"NT=1"}}))
	require.Equal(t, []string{"-std=c++17", "-O3", "-DZB_WAVE=32"}, c.options(CompileRequest{Wave: 32}), "the device's own kind")
	c.vendor = backend.Like("cuda")
	require.Equal(t, []string{"-std=c++17", "-arch=sm_90", "-DZB_WAVE=32"}, c.options(CompileRequest{Arch: "sm_90"}))
}

// A source that does not compile says which, for what, and what the compiler
// said; nothing of it is kept.
func TestCompileErrorShowsTheLog(t *testing.T) {
	n := &notes{kept: map[string][]byte{}}
	p := loopback(t, n)
	r := order{CompileRequest: CompileRequest{File: "mine.hip", Arch: "gfx942"}, device: -1}
	_, err := p.compiler.compileText(r, "#error no")
	var c *CompileError
	require.ErrorAs(t, err, &c)
	require.ErrorContains(t, err, "mine.hip for gfx942: compile: compilation error (options -std=c++17 -O3 --offload-arch=gfx942 -DZB_WAVE=64)\nerror: #error in the source")
	require.Empty(t, n.kept)
	r.Defines = []string{"A"}
	r.Arch = "z80"
	_, err = p.compiler.compileText(r, "")
	require.ErrorContains(t, err, "invalid option")
	_, err = p.LoadModule(0, "nothing.hip", nil)
	require.ErrorContains(t, err, `no kernel source "nothing.hip": valid are `)
}

// A kernel found by name, launched with arguments of each kind of width, does its
// work on its own device's stream.
func TestLaunch(t *testing.T) {
	p := loopback(t, nil)
	m, err := p.LoadModule(1, "verify.hip", nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, m.Close()) }()
	poison, err := m.Function("zb_poison")
	require.NoError(t, err)
	_, err = m.Function("zb_nothing")
	require.ErrorContains(t, err, "find kernel zb_nothing of verify.hip on device 1")
	b, err := p.Alloc(1, 1<<12)
	require.NoError(t, err)
	s, err := p.NewStream(1)
	require.NoError(t, err)
	at := Address{Buffer: b, Offset: 64}
	require.NoError(t, p.Write(Address{Buffer: b}, make([]byte, 1<<12)))
	require.NoError(t, p.Launch(s, poison, line(1, 256), at, uint64(128), uint32(0xdeadbeef)))
	done, err := p.Done(s)
	require.NoError(t, err)
	require.True(t, done)
	got := make([]byte, 256)
	require.NoError(t, p.Read(Address{Buffer: b}, got))
	for i := 0; i < len(got); i += 4 {
		want := uint32(0)
		if i >= 64 && i < 64+128 {
			want = 0xdeadbeef
		}
		require.Equal(t, want, binary.LittleEndian.Uint32(got[i:]), "byte %d", i)
	}
	require.ErrorContains(t, p.Launch(s, poison, line(1, 1), "text"), "argument 0: a string cannot be a kernel argument")
	require.ErrorContains(t, p.Launch(s, poison, line(1, 1<<20), b, uint64(1), uint32(0)), "launch zb_poison on device 1")
	require.NoError(t, p.FreeStream(s))
	require.NoError(t, p.Free(b))
}

func TestDeviceTellsItself(t *testing.T) {
	p := loopback(t, nil)
	d, err := p.Device(1)
	require.NoError(t, err)
	require.Equal(t, DeviceInfo{
		Index: 1, Name: "MI300X", PCI: "0000:01:00.0", CapabilityMajor: 9, CapabilityMinor: 4, Units: 304, Wave: 64, MaxThreads: 1024, Dies: 8,
		Shared: 64 << 10, SharedMax: 64 << 10, L2: 4 << 20, Clock: 2.1e9, MemoryClock: 1.3e9, BusWidth: 8192, Memory: 192 << 30,
	}, d)
	_, err = p.Device(2)
	require.ErrorContains(t, err, "attributes on device 2: invalid device ordinal")
}
