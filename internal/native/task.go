package native

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"zbench/bench/base/slice"
)

// Task is work that takes seconds and has begun. The zero Task marks the end of the previous task.
type Task struct {
	// Text describes the task, such as "compiling verify.hip for gfx942".
	Text string
	// Number counts the tasks of a kind from 1; Of is their total. Both are 0 if the total
	// is unknown.
	Number, Of int
}

func (t Task) String() string {
	if t.Of == 0 {
		return t.Text
	}
	return fmt.Sprintf("%s (%d of %d)", t.Text, t.Number, t.Of)
}

// openingQuiet is how long opening a library takes before it becomes a task.
const openingQuiet = 500 * time.Millisecond

// compilations counts a compiler's tasks. Kernels from the cache are counted without a message, so
// that the last number is the number of kernel files.
type compilations struct {
	tell       func(Task) // receives the tasks; nil for no messages
	number, of int
	// The list `seen` has the keys that were counted. For the next device the cache already has
	// them.
	seen []string
}

// count() registers the kernel source with this key. `kept` is true if a cache keeps the code.
func (c *compilations) count(key string, kept bool) {
	if c.tell == nil || kept && slices.Contains(c.seen, key) {
		return
	}
	c.seen = append(c.seen, key)
	c.number++
}

// begin announces the compilation that was counted last. It returns a function that announces the
// end.
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

// Expect announces how many kernel sources will be compiled, for the numbers of the tasks.
func (c *Compiler) Expect(files int) { c.tasks.of += files }

// Expect announces how many kernel sources will be loaded on each of the devices.
// With a cache they are compiled once per kind of device.
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

// identity identifies the kind of a device, because code is compiled once per kind. Arch is
// empty if the compiler queries the device itself.
func (d DeviceInfo) identity() string {
	return fmt.Sprintf("%s/%s/%d.%d", d.Name, d.Arch, d.CapabilityMajor, d.CapabilityMinor)
}
