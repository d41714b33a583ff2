package main

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/bench/engine"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
)

// What is known to hang is not run, unless --risk says so: the GDR flush of net_ib with MI355X, here.
func TestSoakLeavesOutWhatHangs(t *testing.T) {
	env := map[string]string{"NCCL_NET": "IB"}
	s, _ := testState(t)
	s.Getenv = func(name string) string { return env[name] }
	w := &openWorld{state: s, setup: &engine.Setup{Spec: spec.Spec{World: spec.World{Nodes: 2, GPUsPerNode: 8}}}, facts: engine.Facts{
		Devices: []record.Device{{Name: "AMD Instinct MI355X"}}, Libraries: []record.Library{{Name: "RCCL", Version: "2.30.4"}},
	}}
	var o soakOptions
	err := o.hangs(w)
	require.ErrorContains(t, err, "NOT CHECKED: known to hang: the GDR flush is on")
	require.Equal(t, exit.Want, exit.CodeOf(err))
	o.risk = true
	require.NoError(t, o.hangs(w))
	o.risk, env["NCCL_GDR_FLUSH_DISABLE"] = false, "1"
	require.NoError(t, o.hangs(w))
}

// The log of this process is found where each process has one of its own.
func TestSoakReadsTheLog(t *testing.T) {
	s, _ := testState(t)
	host, _, _ := strings.Cut(s.Hostname(), ".")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("log.%s.%d", host, s.PID)), []byte("GDRDMA"), 0o600))
	for name, want := range map[string]string{dir + "/log.%h.%p": "GDRDMA", dir + "/log.%h": "", dir + "/log.%x": "", "": ""} {
		s.Getenv = func(string) string { return name }
		require.Equal(t, want, string(s.libraryLog()), name)
	}
}

// A zbench that the loader was told to start, as where the system's C library is too old, starts its children the same
// way.
func TestChildrenOfALoadersProgram(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	f, err := elf.Open(self)
	require.NoError(t, err)
	defer f.Close() //nolint:errcheck // only read
	interp := f.Section(".interp")
	if interp == nil {
		t.Skip("the test is linked statically")
	}
	loader, err := interp.Data()
	require.NoError(t, err)
	cmd := exec.Command(strings.TrimRight(string(loader), "\x00"), "--argv0", "zbench", self, "soak", "--nodes", "2", "--gpus-per-node", "1", "--backend", "loopback",
		"--sizes", "64K", "--attempts", "4", "--vary", "NCCL_ALGO", "--out", filepath.Join(t.TempDir(), "out"))
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", text)
	require.Contains(t, string(text), "NCCL_ALGO=Tree: 2 attempts")
}
