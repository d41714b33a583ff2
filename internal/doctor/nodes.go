package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"zbench/internal/linux"
)

// amdNodes checks the files that HIP opens: the compute device and one render node per GPU.
func (m Machine) amdNodes() []Item {
	if !m.Exists("dev/kfd") {
		f := Item{Mark: Fact, Name: "/dev/kfd", Value: "missing: no AMD GPU, or amdgpu is not loaded"}
		if version := m.Read("sys/module/amdgpu/version"); version != "" || m.Exists("sys/module/amdgpu") {
			f.Mark, f.Lost = Bad, "backend rocm"
			f.Value = "missing, although the amdgpu driver is loaded"
			f.Remedy = "in a container pass --device /dev/kfd --device /dev/dri"
		}
		return []Item{f}
	}
	found := []Item{m.node("dev/kfd", "backend rocm")}
	renders := m.Names("dev/dri", "renderD*")
	if len(renders) == 0 {
		return append(found, Item{
			Mark: Bad, Name: "/dev/dri/renderD*", Value: "not there", Lost: "backend rocm",
			Remedy: "in a container pass --device /dev/dri; else load the driver: sudo modprobe amdgpu",
		})
	}
	return append(found, m.nodes("/dev/dri/renderD*", renders, "its GPU")...)
}

func (m Machine) nvidiaNodes() []Item {
	nodes := m.Names("dev", "nvidia[0-9]*")
	if len(nodes) == 0 && !m.Exists("dev/nvidiactl") {
		return []Item{{Mark: Fact, Name: "/dev/nvidia*", Value: "not there: no NVIDIA GPU, or its driver is not loaded"}}
	}
	if len(nodes) == 0 && m.Read("proc/driver/nvidia/version") == "" {
		// CUDA's library creates /dev/nvidiactl itself when root uses a device.
		return []Item{{Mark: Fact, Name: "/dev/nvidiactl", Value: "there, but no NVIDIA driver is loaded"}}
	}
	if len(nodes) == 0 {
		return []Item{{
			Mark: Bad, Name: "/dev/nvidia0", Value: "missing, although /dev/nvidiactl exists", Lost: "backend cuda",
			Remedy: "in a container pass --gpus all; else run nvidia-smi once as root, which makes the nodes",
		}}
	}
	return m.nodes("/dev/nvidia*", nodes, "its GPU")
}

// nodes returns one finding for all usable device nodes, and one finding per unusable node.
func (m Machine) nodes(name string, files []string, lost string) []Item {
	var bad []Item
	for _, file := range files {
		if f := m.node(file, lost); f.Mark != Good {
			bad = append(bad, f)
		}
	}
	if len(bad) == len(files) {
		return bad
	}
	return append([]Item{{
		Mark: Good, Name: name, Value: fmt.Sprintf("%d of %d can be read and written", len(files)-len(bad), len(files)),
	}}, bad...)
}

// node returns the finding for a device node. If this process may not use the node, the finding
// names the group that it needs.
func (m Machine) node(file, lost string) Item {
	name := "/" + file
	if m.Access == nil {
		return Item{Mark: Good, Name: name, Value: "there"}
	}
	err := m.Access(name)
	if err == nil {
		return Item{Mark: Good, Name: name, Value: "can be read and written"}
	}
	f := Item{Mark: Bad, Name: name, Value: err.Error(), Lost: lost}
	if !errors.Is(err, fs.ErrPermission) {
		f.Remedy = "the driver has no device behind it: look at dmesg"
		return f
	}
	f.Value = "permission denied: this user is in the groups " + cmp.Or(strings.Join(m.groups(), ", "), "(none known)")
	f.Remedy = "sudo usermod -aG render,video $USER, then log in again; in a container --group-add with the groups' numbers, or a device cgroup that allows it"
	if path.Dir(file) == "dev" && strings.HasPrefix(path.Base(file), "nvidia") {
		f.Remedy = "the nodes are for all as a rule: sudo chmod 666 " + name + ", or allow it in the device cgroup of the job or container"
	}
	return f
}

// groups returns the names of this process's groups, or their numbers if /etc/group has no name.
func (m Machine) groups() []string {
	byNumber := map[string]string{}
	for line := range strings.Lines(m.Read("etc/group")) {
		if parts := strings.Split(strings.TrimSpace(line), ":"); len(parts) >= 3 {
			byNumber[parts[2]] = parts[0]
		}
	}
	status := m.Read("proc/self/status")
	own := strings.Fields(linux.StatusField(status, "Gid"))
	var names []string
	for _, number := range append(own[:min(1, len(own))], strings.Fields(linux.StatusField(status, "Groups"))...) {
		name := cmp.Or(byNumber[number], number)
		if _, err := strconv.Atoi(number); err == nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
