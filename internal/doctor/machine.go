package doctor

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"zbench/internal/linux"
	"zbench/internal/preflight"
)

// Machine is the system that doctor examines.
type Machine struct {
	// Tree is the root of the file system.
	linux.Tree
	// Access reports whether this process may read and write the file with the given absolute
	// name; nil allows every file.
	Access func(name string) error
	// Temp is the folder for temporary files; empty means /tmp.
	Temp string
	// Host has the input of the checks before a run on several nodes, except FS. GPUs is the
	// number of GPUs on this host.
	Host preflight.Host
	GPUs int
	// RCCL is the version of RCCL that would be loaded; empty if there is none.
	RCCL string
}

// aspects are the checks in order. A new check is one row.
var aspects = []func(Machine) []Item{
	Machine.system, Machine.amdNodes, Machine.nvidiaNodes, Machine.amdDevices, Machine.nvidiaDevices,
	Machine.preflight, Machine.iommu, Machine.temporary, Machine.hugePages, Machine.governor, Machine.known,
}

// Items runs all checks.
func (m Machine) Items() []Item {
	var all []Item
	for _, aspect := range aspects {
		all = append(all, aspect(m)...)
	}
	return all
}

func (m Machine) system() []Item {
	var parts []string
	for line := range strings.Lines(m.Read("etc/os-release")) {
		if value, found := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); found && strings.Trim(value, `"`) != "" {
			parts = []string{strings.Trim(value, `"`)}
		}
	}
	if release := m.Read("proc/sys/kernel/osrelease"); release != "" {
		parts = append(parts, "Linux "+release)
	}
	if len(parts) == 0 {
		return nil
	}
	return []Item{{Mark: Fact, Name: "system", Value: strings.Join(parts, ", ")}}
}

// iommu checks the IOMMU. Address translation slows or hangs traffic between devices; pass-through
// mode does not.
func (m Machine) iommu() []Item {
	good := func(value string) []Item { return []Item{{Mark: Good, Name: "IOMMU", Value: value}} }
	for word := range strings.FieldsSeq(m.Read("proc/cmdline")) {
		switch word {
		case "iommu=pt", "iommu.passthrough=1":
			return good("pass-through (" + word + ")")
		case "iommu=off", "amd_iommu=off", "intel_iommu=off":
			return good("off (" + word + ")")
		}
	}
	if len(m.Names("sys/class/iommu", "*")) == 0 {
		return good("none in use")
	}
	return []Item{{
		Mark: Warn, Name: "IOMMU", Value: "translates: iommu=pt is not on the kernel's command line",
		Remedy: "add iommu=pt to the kernel's command line and boot again (not needed in a virtual machine)",
	}}
}

// temporary checks the folder for temporary files. hiprtc compiles there; if the folder is
// unusable, hiprtc fails without giving a reason.
func (m Machine) temporary() []Item {
	name := cmp.Or(m.Temp, "/tmp")
	f := Item{Mark: Good, Name: "temporary files", Value: name}
	switch {
	case !m.Exists(strings.Trim(path.Clean(name), "/")):
		f.Value += " is not there"
	case m.Access != nil && m.Access(name) != nil:
		f.Value += " cannot be written"
	default:
		return []Item{f}
	}
	f.Mark, f.Lost, f.Remedy = Bad, "kernels: hiprtc fails without a word", "set TMPDIR to a folder that can be written"
	return []Item{f}
}

// governor checks the CPU governor. With most governors, cores sleep deeply between launches.
func (m Machine) governor() []Item {
	value := m.Read("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
	switch value {
	case "":
		return nil
	case "performance":
		return []Item{{Mark: Good, Name: "CPU governor", Value: value}}
	}
	return []Item{{
		Mark: Warn, Name: "CPU governor", Value: value + ": small messages wait for cores that wake up",
		Remedy: "sudo cpupower frequency-set -g performance",
	}}
}

// hugePages checks transparent huge pages, which speed up pinning host memory and copies from it.
func (m Machine) hugePages() []Item {
	text := m.Read("sys/kernel/mm/transparent_hugepage/enabled")
	_, rest, found := strings.Cut(text, "[")
	value, _, _ := strings.Cut(rest, "]")
	if !found {
		return nil
	}
	f := Item{Mark: Good, Name: "huge pages", Value: "transparent: " + value}
	if value == "never" {
		f.Mark, f.Remedy = Warn, "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"
		f.Value += fmt.Sprintf(" (of %s)", strings.NewReplacer("[", "", "]", "").Replace(text))
	}
	return []Item{f}
}
