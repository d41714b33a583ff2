package main

import (
	"strconv"
	"strings"

	"zbench/bench/base/unit"
	"zbench/hbm"
)

// hostFacts describes the host as the device of the loopback.
func hostFacts(s State) hbm.HostFacts {
	h := s.Host()
	return hbm.HostFacts{Name: hostName(s), CPUs: h.CPUs, Memory: h.Memory, Cache: hostCache(s)}
}

// hostName returns the model name of the CPU.
func hostName(s State) string {
	text, err := s.FS.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "this host"
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "this host"
}

// hostCache returns the size, in bytes, of the last-level cache of the first CPU, or 0 if the
// kernel does not state it. This is the part of the cache that the CPUs of one package share, as in
// lscpu.
func hostCache(s State) int64 {
	const folder = "/sys/devices/system/cpu/cpu0/cache/"
	last, size := 0, int64(0)
	for i := range 8 {
		level, err := s.FS.ReadFile(folder + "index" + strconv.Itoa(i) + "/level")
		if err != nil {
			break
		}
		text, err := s.FS.ReadFile(folder + "index" + strconv.Itoa(i) + "/size")
		n, bad := strconv.Atoi(strings.TrimSpace(string(level)))
		if err != nil || bad != nil || n < last {
			continue
		}
		if v, err := unit.ParseBytes(strings.TrimSpace(string(text))); err == nil {
			last, size = n, v
		}
	}
	return size
}
