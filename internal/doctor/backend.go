package doctor

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/hardware/backend"
	"zbench/internal/native"
)

// Backend holds the findings about one provider.
type Backend struct {
	// Name of the backend: loopback, rocm or cuda.
	Name string `json:"name"`
	// Usable is true if collectives can run on this backend here.
	Usable bool `json:"usable"`
	// Why is the reason why collectives cannot run.
	Why string `json:"why,omitempty"`
	// Kernels is true if hbm and kernels can run on this backend here. They need no collectives
	// library.
	Kernels bool `json:"kernels_usable"`
	// Remedy is the next step if the backend cannot run.
	Remedy string `json:"remedy,omitempty"`
	// Simulated is true if the times come from a model.
	Simulated bool `json:"simulated,omitempty"`
	// Install names the package that has the backend's libraries, for a remedy.
	Install string `json:"-"`
	// Libraries are the backend's libraries, each with the places where zbench looked for it.
	Libraries []*native.Library `json:"libraries,omitempty"`
	// Devices are the GPUs that the backend's runtime reports.
	Devices []Device `json:"devices,omitempty"`
	// Compiled is the result of compiling the kernels, if it was requested.
	Compiled []Compiled `json:"compiled,omitempty"`
}

// Device is a GPU that the backend's runtime reports.
type Device struct {
	// Index is the runtime's number of the GPU.
	Index int `json:"index"`
	// Name is the driver's name of the GPU.
	Name string `json:"name,omitempty"`
	// Arch is the GPU's architecture, such as gfx942 or sm_90.
	Arch string `json:"arch,omitempty"`
	// PCI is the PCI address, domain:bus:device.function.
	PCI string `json:"pci,omitempty"`
	// Bytes is the size of the GPU's memory, in bytes.
	Bytes int64 `json:"memory_bytes,omitempty"`
	// Err is the reason why the GPU cannot be used.
	Err string `json:"error,omitempty"`
}

// Compiled is the result of the run-time compiler for one architecture.
type Compiled struct {
	// Arch is the architecture, such as gfx942 or sm_90.
	Arch string `json:"arch"`
	// Files is the number of compiled sources.
	Files int `json:"files"`
	// Kernels is the number of kernels found in the compiled code.
	Kernels int `json:"kernels"`
	// Errors are the sources that did not compile, with the compiler's log, and the missing
	// kernels.
	Errors []string `json:"errors,omitempty"`
}

// Items returns the backend's facts as checks for display.
func (b Backend) Items() []Item {
	var all []Item
	for _, l := range b.Libraries {
		all = append(append(all, b.library(l)), b.symbols(l)...)
	}
	all = append(all, slice.Map(b.Devices, Device.finding)...)
	all = append(all, slice.Map(b.Compiled, Compiled.finding)...)
	if !b.Usable && !slices.ContainsFunc(all, func(f Item) bool { return f.Mark == Bad }) {
		all = append(all, Item{Mark: Bad, Name: "start", Value: b.Why, Remedy: b.Remedy})
	}
	return all
}

// library returns the finding about one library.
func (b Backend) library(l *native.Library) Item {
	f := Item{Mark: Good, Name: l.Name}
	if l.Path != "" {
		f.Value = fmt.Sprintf("%s  %d of %d symbols  %s", cmp.Or(l.Version, "version unknown"), l.Listed-len(l.Missing), l.Listed, l.Path)
		if l.By != "" {
			f.Value += " (" + l.By + ")"
		}
		return f
	}
	f.Mark, f.Value, f.Lost = Bad, tried(l), l.Lost
	if !l.Required {
		f.Mark = Warn
	}
	f.Remedy = cmp.Or(l.Remedy, "install "+b.Install+", or name the file with --"+l.Flag)
	if l.By != "" {
		f.Remedy = l.By + " names it: correct or leave out that; " + f.Remedy
	}
	return f
}

// tried() lists broken libraries with reasons, and missing libraries by folder.
func tried(l *native.Library) string {
	var broken, names, folders []string
	add := func(list *[]string, s string) {
		if !slices.Contains(*list, s) {
			*list = append(*list, s)
		}
	}
	for _, a := range l.Attempts {
		switch folder, name := path.Split(a.Path); {
		case !a.Absent:
			why := a.Why
			if !strings.Contains(why, a.Path) {
				why = a.Path + ": " + why
			}
			add(&broken, why)
		case folder == "":
			add(&names, name)
			add(&folders, "the loader's own path")
		default:
			add(&names, name)
			add(&folders, path.Clean(folder))
		}
	}
	var parts []string
	if len(broken) > 0 {
		parts = append(parts, "not usable: "+strings.Join(broken, "; "))
	}
	if len(names) > 0 {
		parts = append(parts, fmt.Sprintf("not found: %s in %s", strings.Join(names, ", "), strings.Join(folders, ", ")))
	}
	return cmp.Or(strings.Join(parts, "; "), "not looked for")
}

// symbols returns one finding for all missing required functions, and one finding for each
// loss from missing optional functions.
func (b Backend) symbols(l *native.Library) []Item {
	required := func(s native.Symbol) bool { return s.Required }
	all := slice.Map(slice.Where(l.Missing, required), func(s native.Symbol) Item {
		return Item{Mark: Bad, Name: s.Name, Value: "not in " + l.Name, Remedy: "take a newer " + b.Install + ", or name another file with --" + l.Flag}
	})
	losses, of := slice.Group(slices.DeleteFunc(slices.Clone(l.Missing), required), func(s native.Symbol) string { return s.Lost })
	for _, lost := range losses {
		names := slice.Map(of[lost], func(s native.Symbol) string { return s.Name })
		f := Item{Mark: Warn, Name: "optional symbols", Value: strings.Join(names, ", ") + " absent", Lost: lost}
		f.Remedy = "a newer " + b.Install + " may have it"
		if instead, found := strings.CutPrefix(lost, "nothing"); found {
			f = Item{Mark: Fact, Name: f.Name, Value: f.Value + instead}
		}
		all = append(all, f)
	}
	return all
}

func (d Device) finding() Item {
	f := Item{Mark: Good, Name: fmt.Sprintf("device %d", d.Index)}
	if d.Err != "" {
		f.Mark, f.Value, f.Lost = Bad, d.Err, "this GPU"
		f.Remedy = "look at dmesg, and for other programs that use it; leave it out with " + backend.Text(" or ", func(v backend.Vendor) string { return v.Hiding[len(v.Hiding)-1] })
		return f
	}
	parts := slices.DeleteFunc([]string{d.Name, d.Arch, d.PCI}, func(part string) bool { return part == "" })
	if d.Bytes > 0 {
		parts = append(parts, unit.Bytes(d.Bytes))
	}
	f.Value = strings.Join(parts, "  ")
	return f
}

func (c Compiled) finding() Item {
	f := Item{Mark: Good, Name: "kernels for " + c.Arch, Value: fmt.Sprintf("%d kernels of %d files compile, each in its code object", c.Kernels, c.Files)}
	if len(c.Errors) > 0 {
		parts := slice.Map(c.Errors, func(e string) string { return cutLines(e, shownLines) })
		f.Mark, f.Value = Bad, strings.Join(parts, "\n")
		f.Remedy = "take the compiler of another version with the flags above; if it is new, report the log"
	}
	return f
}

// shownLines is the number of lines of a compiler's log that are displayed; the JSON has all lines.
const shownLines = 12

func cutLines(text string, n int) string {
	lines := strings.Split(text, "\n")
	if len(lines) <= n {
		return text
	}
	return fmt.Sprintf("%s\n… %d more lines: --format json has them all", strings.Join(lines[:n], "\n"), len(lines)-n)
}
