package native

/*
#include <stdlib.h>
#include "c/shim.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"zbench/bench/base/slice"
	"zbench/bench/hardware/backend"
)

// CallError is the error of a call into a library.
type CallError struct {
	// Call describes the call; Text is the library's error string for Code.
	Call, Text string
	Code       int
	// Device is the device of the call, −1 for none.
	Device int
}

func (e *CallError) Error() string {
	where := ""
	if e.Device >= 0 {
		where = fmt.Sprintf(" on device %d", e.Device)
	}
	return fmt.Sprintf("%s%s: %s (code %d)", e.Call, where, e.Text, e.Code)
}

// runtime returns the error for a result of the runtime; nil for success.
func (p *Provider) runtime(call string, device int, code C.int) error {
	if code == C.ZB_OK {
		return nil
	}
	return &CallError{Call: call, Text: C.GoString(C.zb_runtime_error(p.table, code)), Code: int(code), Device: device}
}

// collectives returns the error for a result of the collectives library; nil for success.
func (p *Provider) collectives(call string, device int, code C.int) error {
	if code == 0 {
		return nil
	}
	return &CallError{Call: call, Text: C.GoString(C.zb_coll_error(p.table, code)), Code: int(code), Device: device}
}

// collVersion formats NCCL's version code, which is major·10000 + minor·100 + patch since 2.9, and
// major·1000 + minor·100 + patch before.
func collVersion(v int) string {
	if v >= 10000 {
		return fmt.Sprintf("%d.%d.%d", v/10000, v%10000/100, v%100)
	}
	return fmt.Sprintf("%d.%d.%d", v/1000, v%1000/100, v%100)
}

// Devices returns the number of visible devices. If there is none, or the driver is
// missing or too old, the error wraps ErrUnavailable.
func (p *Provider) Devices() (int, error) {
	var n C.int
	code := C.zb_device_count(p.table, &n)
	switch {
	case code != C.ZB_OK && code != C.ZB_ERR_NO_DEVICE:
		return 0, p.driverFault(code)
	case n == 0 || code != C.ZB_OK:
		return 0, p.unavailable("no device", "run where there is a GPU that this user may open, and that the variables of visible devices do not hide")
	}
	p.used = true
	return int(n), nil
}

// ErrDevice is wrapped by the error for a device that does not exist.
var ErrDevice = errors.New("no such device")

// Choose returns the requested devices, or all of them. An error wraps ErrDevice, or is an error of
// Devices.
func (p *Provider) Choose(all bool, devices ...int) ([]int, error) {
	n, err := p.Devices()
	if err != nil {
		return nil, err
	}
	if all {
		devices = nil
		for i := range n {
			devices = append(devices, i)
		}
	}
	for _, i := range devices {
		if i < 0 || i >= n {
			return nil, fmt.Errorf("%w: device %d of %d", ErrDevice, i, n)
		}
	}
	return devices, nil
}

// driverFault returns the reason why the runtime cannot count devices. CUDA's runtime reports a
// missing driver as a driver that is too old.
func (p *Provider) driverFault(code C.int) error {
	err := p.runtime("device count", -1, code)
	driver, runtime := p.search(RoleDriver), p.search(RoleRuntime)
	switch {
	case driver.Name != "" && !driver.Found():
		return p.unavailable(fmt.Sprintf("no driver library %s: tried %s; without it %v", driver.Name, driver.tried(), err), driver.Remedy)
	case code == C.ZB_ERR_DRIVER && runtime.Flag != "":
		what := fmt.Sprintf("the driver is too old for %s %s: %v", runtime.Name, runtime.Version, err)
		if driver.Version != "" {
			what = fmt.Sprintf("the driver is for %s, too old for %s %s: %v", driver.Version, runtime.Name, runtime.Version, err)
		}
		return p.unavailable(what, "install a newer kernel driver, or name an older runtime with --"+runtime.Flag)
	}
	return p.unavailable("no usable device: "+err.Error(),
		"see that the GPU's kernel driver is loaded and fits the libraries (dmesg, "+backend.Tools()+"; with NVSwitch nvidia-fabricmanager has to run)")
}

func (p *Provider) unavailable(what, remedy string) error {
	return &UnavailableError{p.Backend, what, remedy, p.Searches()}
}

// Memory returns the free and the total memory of a device in bytes.
func (p *Provider) Memory(device int) (free, total int64, err error) {
	var f, t C.size_t
	err = p.runtime("memory info", device, C.zb_mem_info(p.table, C.int(device), &f, &t))
	return int64(f), int64(t), err
}

// Buffer is device memory.
type Buffer struct {
	ptr    unsafe.Pointer
	device int
	// `library` is true if the collectives library allocated the buffer.
	library bool
	Bytes   int64
}

// Alloc allocates memory on a device, in bytes.
func (p *Provider) Alloc(device int, bytes int64) (Buffer, error) {
	return p.alloc(device, bytes, false)
}

// AllocFine allocates fine-grained memory on a device, in bytes. CanCall must have returned nil.
func (p *Provider) AllocFine(device int, bytes int64) (Buffer, error) {
	return p.alloc(device, bytes, true)
}

func (p *Provider) alloc(device int, bytes int64, fine bool) (Buffer, error) {
	b := Buffer{device: device, Bytes: bytes}
	code := C.zb_malloc(p.table, C.int(device), C.int(b2i(fine)), &b.ptr, C.size_t(bytes))
	err := p.runtime(fmt.Sprintf("allocate %d bytes", bytes), device, code)
	if code != C.ZB_ERR_MEMORY {
		return b, err
	}
	if free, _, unknown := p.Memory(device); unknown == nil && free >= bytes {
		err = fmt.Errorf("%w, although the device has %d bytes free: the limit may be this process's address space (ulimit -v shows it, ulimit -v unlimited lifts it)", err, free)
	}
	return b, err
}

// AllocLibrary allocates memory by the collectives library, in bytes. Windows need such memory.
func (p *Provider) AllocLibrary(device int, bytes int64) (Buffer, error) {
	b := Buffer{device: device, library: true, Bytes: bytes}
	code := C.zb_coll_malloc(p.table, C.int(device), &b.ptr, C.size_t(bytes))
	return b, p.collectives(fmt.Sprintf("allocate %d bytes (%s)", bytes, p.nameOf("collMalloc")), device, code)
}

// Free frees a buffer.
func (p *Provider) Free(b Buffer) error {
	if b.library {
		return p.collectives("free", b.device, C.zb_coll_free(p.table, C.int(b.device), b.ptr))
	}
	return p.runtime("free", b.device, C.zb_free(p.table, C.int(b.device), b.ptr))
}

// Write copies bytes of the host to an address on its device. Like Read, it does not wait for
// streams: call it after their work has finished.
func (p *Provider) Write(to Address, data []byte) error {
	return p.copy("copy to the device", to, data, C.ZB_TO_DEVICE)
}

// Read copies bytes from an address on its device to the host; see Write.
func (p *Provider) Read(from Address, data []byte) error {
	return p.copy("copy to the host", from, data, C.ZB_TO_HOST)
}

func (p *Provider) copy(call string, at Address, data []byte, kind C.int) error {
	if len(data) == 0 {
		return nil
	}
	device := at.Buffer.device
	code := C.zb_copy(p.table, C.int(device), unsafe.Pointer(at.ptr()), unsafe.Pointer(&data[0]), C.size_t(len(data)), kind)
	return p.runtime(call, device, code)
}

// Done reports whether a stream has finished all of its work. It does not wait.
func (p *Provider) Done(s Stream) (bool, error) {
	code := C.zb_stream_query(p.table, C.int(s.device), s.ptr)
	if code == C.ZB_ERR_NOT_READY {
		return false, nil
	}
	return code == C.ZB_OK, p.runtime("stream query", s.device, code)
}

// Stream is a queue of work on one device.
type Stream struct {
	ptr    unsafe.Pointer
	device int
}

// NewStream creates a non-blocking stream on a device. With a mask, the stream's kernels run only on
// the compute units whose bits are set, 32 in a word; HIP then makes a blocking stream. CanCall must
// have returned nil for a mask.
func (p *Provider) NewStream(device int, mask ...uint32) (Stream, error) {
	return p.newStream(device, false, mask)
}

// NewUrgentStream creates a stream of high priority. Without the function for it, the error wraps
// ErrUnavailable.
func (p *Provider) NewUrgentStream(device int) (Stream, error) {
	if name := p.Lacks("streamPriority"); name != "" {
		return Stream{}, fmt.Errorf("%s backend: %w: the runtime library has no %s", p.Backend, ErrUnavailable, name)
	}
	return p.newStream(device, true, nil)
}

func (p *Provider) newStream(device int, urgent bool, mask []uint32) (Stream, error) {
	s := Stream{device: device}
	if d := C.int32_t(device); !slices.Contains(p.devices, d) { //nolint:gosec // a device's index fits
		p.devices = append(p.devices, d)
	}
	return s, p.runtime("create stream", device, C.zb_stream_create(p.table, C.int(device), C.int(b2i(urgent)), C.uint32_t(len(mask)), (*C.uint32_t)(unsafe.SliceData(mask)), &s.ptr))
}

// FreeStream destroys a stream.
func (p *Provider) FreeStream(s Stream) error {
	return p.runtime("destroy stream", s.device, C.zb_stream_destroy(p.table, C.int(s.device), s.ptr))
}

// Comm is the communicator handle of one rank.
type Comm struct {
	ptr    unsafe.Pointer
	device int
}

// UniqueID identifies a communicator before it is created. It can be used only once.
type UniqueID [128]byte

// NewUniqueID creates an id, in the process of the communicator's rank 0.
func (p *Provider) NewUniqueID() (UniqueID, error) {
	var id C.zb_unique_id
	err := p.collectives("unique id", -1, C.zb_unique(p.table, &id))
	return *(*UniqueID)(unsafe.Pointer(&id)), err
}

// InitComms joins this process's ranks to a communicator of nranks ranks, in one group. The ranks
// are numbered from firstRank on, one rank per device. `cta` is the policy of compute units in the
// library's configuration. With 0, and without `nonblocking`, no configuration is passed. With
// nonblocking the calls return at once, and InitComms polls until they have ended.
func (p *Provider) InitComms(id UniqueID, nranks, firstRank int, devices []int, cta int, nonblocking bool) ([]Comm, error) {
	n := len(devices)
	cid := *(*C.zb_unique_id)(unsafe.Pointer(&id))
	ptrs := unsafe.Slice((*unsafe.Pointer)(C.calloc(C.size_t(n), C.size_t(unsafe.Sizeof(uintptr(0))))), n)
	defer C.free(unsafe.Pointer(&ptrs[0]))
	devs := slice.Map(devices, func(d int) C.int32_t { return C.int32_t(d) }) //nolint:gosec // a device's index fits
	code := C.zb_comms_init(p.table, &cid, C.int(nranks), C.int(firstRank), C.int(n), &devs[0], C.int(cta), C.int(b2i(nonblocking)), &ptrs[0])
	comms := make([]Comm, 0, n)
	for i, d := range devices {
		if ptrs[i] != nil {
			comms = append(comms, Comm{ptr: ptrs[i], device: d})
		}
	}
	return comms, p.collectives(fmt.Sprintf("init %d of %d ranks", n, nranks), -1, code)
}

// SplitComms splits the communicator of each of this process's ranks, in one group, into new
// communicators that share nothing with it. colors has the number of each rank's new communicator,
// and keys has the rank's number in it.
func (p *Provider) SplitComms(from []Comm, colors, keys []int) ([]Comm, error) {
	if name := p.Lacks("commSplit"); name != "" {
		return nil, fmt.Errorf("%s backend: %w: the collectives library has no %s", p.Backend, ErrUnavailable, name)
	}
	var m memory
	defer m.free()
	n := len(from)
	number := func(of func(i int) int) *C.int32_t {
		list := unsafe.Slice(kept[C.int32_t](&m, n), n)
		for i := range list {
			list[i] = C.int32_t(of(i)) //nolint:gosec // a device, or a rank
		}
		return &list[0]
	}
	olds, made := unsafe.Slice(kept[unsafe.Pointer](&m, n), n), unsafe.Slice(kept[unsafe.Pointer](&m, n), n)
	for i, c := range from {
		olds[i] = c.ptr
	}
	code := C.zb_comms_split(p.table, C.int(n), number(func(i int) int { return from[i].device }), &olds[0],
		number(func(i int) int { return colors[i] }), number(func(i int) int { return keys[i] }), &made[0])
	comms := make([]Comm, n)
	for i, c := range from {
		comms[i] = Comm{ptr: made[i], device: c.device}
	}
	return comms, p.collectives(fmt.Sprintf("split %d communicators", n), -1, code)
}

// Registration is a buffer that was registered with a rank's communicator.
type Registration struct {
	comm   Comm
	window bool
	handle unsafe.Pointer
}

// Register registers one buffer of each rank with its communicator, in one group, as windows or as
// plain buffers. All buffers have the same size. All ranks of the communicators must call it
// together. The result `seconds` is the duration of the call.
func (p *Provider) Register(window bool, comms []Comm, buffers []Buffer) (all []Registration, seconds float64, err error) {
	var m memory
	defer m.free()
	n := len(comms)
	devices := unsafe.Slice(kept[C.int32_t](&m, n), n)
	handles, at, made := unsafe.Slice(kept[unsafe.Pointer](&m, n), n), unsafe.Slice(kept[unsafe.Pointer](&m, n), n), unsafe.Slice(kept[unsafe.Pointer](&m, n), n)
	for i, c := range comms {
		devices[i], handles[i], at[i] = C.int32_t(c.device), c.ptr, buffers[i].ptr //nolint:gosec // a device's index fits
	}
	var took C.int64_t
	code := C.zb_register(p.table, C.int(b2i(window)), C.int(n), &devices[0], &handles[0], &at[0], C.size_t(buffers[0].Bytes), &made[0], &took)
	for i, c := range comms {
		if made[i] != nil {
			all = append(all, Registration{comm: c, window: window, handle: made[i]})
		}
	}
	symbol := "commRegister"
	if window {
		symbol = "windowRegister"
	}
	return all, float64(took) * 1e-9, p.collectives(p.nameOf(symbol), comms[0].device, code)
}

// Deregister undoes a registration. Call it before the communicator or the buffer is freed.
func (p *Provider) Deregister(r Registration) error {
	return p.collectives("deregister", r.comm.device, C.zb_deregister(p.table, C.int(b2i(r.window)), C.int(r.comm.device), r.comm.ptr, r.handle))
}

// functions are the collectives for which RCCL reports the implementation that takes the buffers
// into account, with their numbers in its enum ncclFunc_t. For other collectives RCCL reports an
// algorithm without regard to buffers (ROCm/rocm-systems, projects/rccl/src/rccl_wrap.cc,
// rcclGetCollImplInfo).
var functions = map[string]C.int{"all_gather": 2, "reduce_scatter": 3, "all_reduce": 4}

// Implementation returns the library's name for the implementation that would run the work on these
// buffers, such as CE or RING; "" if the library does not report it. A release of RCCL that hides
// its internal functions has this function but refuses the call.
func (p *Provider) Implementation(comm Comm, w Work, send, recv Address, graph bool) string {
	function, known := functions[w.Collective]
	if !known {
		return ""
	}
	name := C.zb_impl(p.table, comm.ptr, function, C.uint64_t(w.Count), C.int(dtypeCodes[w.Dtype]), C.int(opCodes[w.Op]),
		unsafe.Pointer(send.ptr()), unsafe.Pointer(recv.ptr()), C.int(b2i(graph)))
	return C.GoString(name)
}

// FreeComm destroys a communicator.
func (p *Provider) FreeComm(c Comm) error {
	return p.collectives("destroy communicator", c.device, C.zb_comm_destroy(p.table, C.int(c.device), c.ptr))
}

// AbortComm aborts a communicator, even while a call on it hangs in another thread. If the
// library has no such call, the communicator stays.
func (p *Provider) AbortComm(c Comm) error {
	return p.collectives("abort communicator", c.device, C.zb_comm_abort(p.table, C.int(c.device), c.ptr))
}

// BeginCase announces the next case to the loopback, so that its noise depends only on the case. It
// also sets the clocks of this provider's devices with streams to 0. Real libraries have no such
// call.
func (p *Provider) BeginCase(key uint64) {
	if len(p.devices) > 0 {
		C.zb_case_begin(p.table, C.uint64_t(key), &p.devices[0], C.int(len(p.devices)))
	}
}

// Extrapolated reports whether the times of a collective over `ranks` ranks with the given
// stride come from parts of a model that were not measured. Only the loopback has a model;
// its machine file marks these parts.
func (p *Provider) Extrapolated(collective string, ranks, stride int) bool {
	name := C.CString(collective)
	defer C.free(unsafe.Pointer(name))
	return C.zb_extrapolated(p.table, name, C.int(ranks), C.int(stride)) != 0
}
