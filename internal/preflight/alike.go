package preflight

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/run/record"
)

// partitions() requires unpartitioned GPUs, and the same modes on all hosts.
func (w *world) partitions() []verdict {
	usual := w.usual(func(p *Process) string { return p.Facts.Partitions })
	return w.each(func(p *Process) verdict {
		modes := p.Facts.Partitions
		switch {
		case modes == "":
			return notChecked("the driver does not tell the mode")
		case modes != usual:
			return warn(modes+"; most hosts have "+usual, "sudo amd-smi set --compute-partition and --memory-partition as on the other hosts")
		case cutUp(modes):
			return warn(modes, "sudo amd-smi set --compute-partition SPX, if whole GPUs are meant")
		}
		return ok(modes)
	})
}

// cutUp reports whether any GPU is partitioned. AMD's mode SPX is a whole GPU.
func cutUp(modes string) bool {
	for part := range strings.SplitSeq(modes, ", ") {
		_, mode, _ := strings.Cut(part, " x ")
		if !strings.HasPrefix(mode, "SPX") && mode != "whole" {
			return true
		}
	}
	return false
}

// libraries() requires equal versions in all processes. The kernel driver is no library of the
// process, so a different version is a warning.
func (w *world) libraries() []verdict {
	versions := func(p *Process) string {
		return strings.Join(slice.Map(p.Facts.Libraries, func(l record.Library) string { return strings.TrimSpace(l.Name + " " + l.Version) }), ", ")
	}
	driver := func(p *Process) string { return p.Facts.Driver }
	usual, usualDriver := w.usual(versions), w.usual(driver)
	return w.each(func(p *Process) verdict {
		have := versions(p)
		switch {
		case have == "":
			return notChecked("the process gave no versions")
		case have != usual:
			return bad(have+"; most ranks have "+usual, "install the same version on all hosts, or leave these out; --rccl-lib names a file")
		case driver(p) != usualDriver && driver(p) != "":
			return warn("kernel driver "+driver(p)+"; most hosts have "+usualDriver, "install the same driver on all hosts, or leave these out")
		}
		return ok(have)
	})
}

// peers() requires that every process sees all GPUs of its host's processes, and that each GPU
// belongs to one process. The library accepts two processes per GPU only if NCCL_HOSTID makes the
// processes count as two hosts.
func (w *world) peers() []verdict {
	driven := map[string][]string{}
	drivers := map[[2]string]int{}
	for _, p := range w.all {
		for _, gpu := range p.Facts.GPUs {
			if drivers[[2]string{p.Host, gpu}]++; drivers[[2]string{p.Host, gpu}] == 1 {
				driven[p.Host] = append(driven[p.Host], gpu)
			}
		}
	}
	return w.each(func(p *Process) verdict {
		for _, gpu := range p.Facts.GPUs {
			if n := drivers[[2]string{p.Host, gpu}]; gpu != "" && n > 1 {
				return warn(fmt.Sprintf("%d processes drive the GPU %s: its kernels take turns, and times say nothing", n, gpu), "give each process a GPU of its own to measure times")
			}
		}
		visible := p.Facts.Visible
		if len(visible) == 0 || len(driven[p.Host]) == 0 {
			return notChecked("the process did not list the GPUs that it sees")
		}
		missing := slices.DeleteFunc(slices.Clone(driven[p.Host]), func(gpu string) bool { return slices.Contains(visible, gpu) })
		if len(missing) == 0 {
			return ok("all visible")
		}
		next := "--gpu-bind=none with srun; in a container pass all of /dev/dri"
		if len(p.Facts.Hiding) > 0 {
			next = "unset " + strings.Join(p.Facts.Hiding, ", ") + "; " + next
		}
		// Each process of a node lacks other GPUs; without the names of the GPUs the findings are
		// equal.
		return warn(fmt.Sprintf("the process sees %s of the node's, not the other %s", plain.Count(len(visible), "GPU"), plain.Count(len(missing), "GPU")), next)
	})
}

// folder() requires that every process sees the leader's file. The leader is the first process.
func (w *world) folder() []verdict {
	return w.each(func(p *Process) verdict {
		f := p.Facts.Folder
		switch {
		case f == nil:
			return notChecked("the process does not know the folder")
		case f.Why != "":
			return bad(fmt.Sprintf("the leader cannot write to %s: %s", f.Path, f.Why), "choose another --out")
		case !f.Seen:
			return warn(fmt.Sprintf("the leader's file in %s is not seen here", f.Path), "choose an --out on a file system that all hosts share; one that was just mounted over NFS may take a minute to show it")
		}
		return ok("shared, written by the leader")
	})
}
