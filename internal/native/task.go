package native

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"zbench/bench/base/slice"
)

// Task is work that takes seconds and has begun. The zero Task is the end of the previous one.
type Task struct {
	// Text describes it: "compiling verify.hip for gfx942".
	Text string
	// Number counts the tasks of a kind from 1, of Of; both are 0 if the number of tasks is
	// unknown.
	Number, Of int
}

func (t Task) String() string {
	if t.Of == 0 {
		return t.Text
	}
	return fmt.Sprintf("%s (%d of %d)", t.Text, t.Number, t.Of)
}

// openingQuiet is the time after which opening a library becomes a task.
const openingQuiet = 500 * time.Millisecond

// compilations counts a compiler's tasks. Kernels from the cache are counted without a message, so
// that the last number is the number of kernel files.
type compilations struct {
	tell       func(Task) // nil means no messages
	number, of int
	// seen are the counted keys: the cache has them for the next device.
	seen []string
}

// count counts the kernel source with this key; kept says whether a cache keeps it.
func (c *compilations) count(key string, kept bool) {
	if c.tell == nil || kept && slices.Contains(c.seen, key) {
		return
	}
	c.seen = append(c.seen, key)
	c.number++
}

// begin announces the last counted compilation, and returns its end.
func (c *compilations) begin(r order) (end func()) {
	if c.tell == nil {
		return func() {}
	}
	t := Task{Text: "compiling " + r.File}
	if target := cmp.Or(r.Arch, r.model); target != "" {
		t.Text += " for " + target
	}
	if c.number <= c.of {
		t.Number, t.Of = c.number, c.of
	}
	c.tell(t)
	return func() { c.tell(Task{}) }
}

// Expect says how many kernel sources will be compiled, for the numbers of the tasks.
func (c *Compiler) Expect(files int) { c.tasks.of += files }

// Expect says how many kernel sources will be loaded on each of the devices. With a
// cache each kind of device has them compiled once.
func (p *Provider) Expect(files int, devices []int) {
	if p.compiler.tasks.tell == nil {
		return
	}
	kinds := slice.Distinct(slice.Map(devices, func(device int) string {
		if info, err := p.Device(device); err == nil && p.compiler.cache != nil {
			return info.identity()
		}
		return fmt.Sprint(device)
	}))
	p.compiler.Expect(files * len(kinds))
}

// identity distinguishes a device from other kinds, for which code is compiled again: if the
// compiler asks the device itself, Arch is empty.
func (d DeviceInfo) identity() string {
	return fmt.Sprintf("%s/%s/%d.%d", d.Name, d.Arch, d.CapabilityMajor, d.CapabilityMinor)
}
