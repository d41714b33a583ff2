"""torch.cuda and torch.accelerator on zbench's loopback.

A tensor on a cuda device is in the host's memory, and an operator on it runs on the CPU but takes the
time of a simulated GPU. Streams and events are those of zbench_torch. A function without a replacement
raises Refused with the function's name.

Units: bytes. elapsed_time is in milliseconds, as in PyTorch.
"""
import copyreg
import ctypes
import functools
import inspect
import os
import sys
import types

import torch
import zbench_torch as zt
from torch.overrides import TorchFunctionMode

# Values of hipDeviceAttribute_t for properties(), the same in HIP 5 to 7.
ATTRIBUTES = {"major": 23, "minor": 61, "multi_processor_count": 63, "warp_size": 87}
GFX = {(9, 4): "gfx942"}
IDLE = ("empty_cache", "ipc_collect", "init", "manual_seed", "manual_seed_all", "seed", "seed_all", "set_sync_debug_mode", "set_per_process_memory_fraction", "empty_host_cache")
NVTX = ("range_push", "range_pop", "range_start", "range_end", "mark")


def is_cuda(x):
    return isinstance(x, int) and not isinstance(x, bool) or isinstance(x, str) and x.split(":")[0] == "cuda" or isinstance(x, DEVICE) and x.type == "cuda"


def host(x):
    """Returns "cpu" for a cuda device, and anything else unchanged."""
    return "cpu" if is_cuda(x) else x


class OnHost(TorchFunctionMode):
    """Makes functions with a cuda device as argument use the CPU. Functions that move a tensor to such a device return
    the tensor itself."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if "device" in kwargs:
            kwargs = {**kwargs, "device": host(kwargs["device"])}
        if kwargs.get("pin_memory"):
            kwargs = {**kwargs, "pin_memory": False}
        if func in MOVES and args:
            if func is torch.Tensor.cuda:
                return args[0]
            first = 0 if func is PARSE else 1
            args = (*args[:first], *map(host, args[first:first + 1]), *args[first + 1:])
        return func(*args, **kwargs)


DEVICE, PARSE = torch.device, torch._C._nn._parse_to
MOVES = {torch.Tensor.cuda, torch.Tensor.to, PARSE}


def stand_in(name, real, make):
    """Replaces torch.NAME, a class written in C, by a class that calls it. The function make returns the arguments of
    that call. isinstance and pickle work as before."""
    class Kind(type):
        def __call__(cls, *args, **kwargs):
            return real(*make(*args, **kwargs))

        def __instancecheck__(cls, x):
            return isinstance(x, real)

    setattr(torch, name, Kind(name, (), {"__module__": "torch"}))


class Memory(ctypes.Structure):
    """The result of glibc's mallinfo2, in bytes."""
    _fields_ = [(n, ctypes.c_size_t) for n in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")]


class Held:
    """Measures the memory that the process has allocated since the program imported torch. Nearly all of it is tensors.
    A real GPU would hold only the tensors that the program moved there."""

    def __init__(self):
        self.ask = ctypes.CDLL(None).mallinfo2
        self.ask.restype, self.before, self.peak = Memory, 0, 0
        self.before = self.now()

    def now(self, *_):
        m = self.ask()
        held = max(0, m.hblkhd + m.uordblks - self.before)
        self.peak = max(self.peak, held)
        return held

    def most(self, *_):
        return max(self.now(), self.peak)

    def reset(self, *_):
        self.peak = 0

    def stats(self, *_):
        now, most = self.now(), self.most()
        return {f"{kind}_bytes.all.{what}": n for kind in ("allocated", "reserved", "active") for what, n in (("current", now), ("peak", most))} | {"num_alloc_retries": 0, "num_ooms": 0}


class Within:
    """A device as a context manager. It changes only the number of the current device, because all numbers mean the
    GPU of this rank."""

    def __init__(self, device=None):
        self.to = device if isinstance(device, int) else getattr(torch.device(device or "cuda"), "index", None)

    def __enter__(self):
        self.before = torch.cuda.current_device()
        torch.cuda.set_device(self.to)

    def __exit__(self, *_):
        torch.cuda.set_device(self.before)


def functions():
    """Returns the replacements for functions of torch.cuda, by name."""
    d, held = zt.cluster().devices, Held()
    zt.cluster().held = held
    on, gpu = [0], "SIMULATED " + os.environ.get("ZBENCH_TORCH_GPU", "")

    def set_device(device):
        index = device if isinstance(device, int) or device is None else torch.device(device).index
        on[0] = on[0] if index is None or index < 0 else index

    def room(*_):
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        d.ran("hipMemGetInfo", ctypes.byref(free), ctypes.byref(total))
        return max(0, total.value - held.now()), total.value

    def properties(device=None):
        value, found = ctypes.c_int(), {}
        for name, number in ATTRIBUTES.items():
            d.ran("hipDeviceGetAttribute", ctypes.byref(value), number, 0)
            found[name] = value.value
        return types.SimpleNamespace(name=gpu, total_memory=room()[1], gcnArchName=GFX.get((found["major"], found["minor"]), ""), is_multi_gpu_board=0, **found)

    def synchronize(device=None):
        for stream in zt.cluster().all:
            stream.synchronize()

    count = int(os.environ["LOCAL_WORLD_SIZE"])
    return {
        "is_available": lambda: True, "is_initialized": lambda: True, "device_count": lambda: count, "current_device": lambda: on[0], "set_device": set_device,
        "is_bf16_supported": lambda *_, **__: True, "is_tf32_supported": lambda: False, "is_current_stream_capturing": lambda: False, "can_device_access_peer": lambda *_: True,
        "get_device_name": lambda device=None: gpu, "get_device_capability": lambda device=None: (properties().major, properties().minor), "get_device_properties": properties, "get_arch_list": lambda: [properties().gcnArchName],
        "synchronize": synchronize, "Stream": zt.Stream, "Event": zt.Event, "stream": zt.Within, "device": Within,
        "current_stream": lambda device=None: zt.cluster().current, "default_stream": lambda device=None: zt.cluster().default, "set_stream": lambda stream: zt.Within(stream).__enter__(),
        "mem_get_info": room, "memory_allocated": held.now, "memory_reserved": held.now, "max_memory_allocated": held.most, "max_memory_reserved": held.most,
        "memory_stats": held.stats, "memory_summary": lambda *_, **__: f"{held.now()} bytes", "reset_peak_memory_stats": held.reset, "reset_max_memory_allocated": held.reset,
        "get_rng_state": lambda device=None: torch.get_rng_state(), "set_rng_state": lambda state, device=None: torch.set_rng_state(state), "initial_seed": torch.initial_seed,
        "get_rng_state_all": lambda: [torch.get_rng_state()] * count, "set_rng_state_all": lambda states: torch.set_rng_state(states[0]),
        **{name: lambda *_, **__: None for name in IDLE},
    }


def fill(module, stands):
    """Puts the replacements into a module. The other functions of the module then raise an error with their names."""
    def refused(name):
        def raises(*_, **__):
            raise zt.Refused(f"{module.__name__}.{name} has no stand-in on the loopback: leave the call out, or guard it")
        return raises

    for name in module.__all__:
        if name in stands:
            setattr(module, name, stands[name])
        elif isinstance(getattr(module, name, None), types.FunctionType):
            setattr(module, name, refused(name))


def accelerator(stands):
    """Returns the replacements for functions of torch.accelerator, by name."""
    return {
        **stands, "current_accelerator": lambda check_available=False: DEVICE("cuda"), "get_memory_info": stands["mem_get_info"], "device_index": Within,
        "current_device_index": stands["current_device"], "current_device_idx": stands["current_device"], "set_device_index": stands["set_device"], "set_device_idx": stands["set_device"],
    }


def taking(kind, **changes):
    """Makes a constructor take another value for each named argument that it is given: what the function returns of
    it."""
    init = kind.__init__
    signature = inspect.signature(init)

    @functools.wraps(init)
    def made(*args, **kwargs):
        given = signature.bind(*args, **kwargs)
        given.arguments.update({name: change(given.arguments[name]) for name, change in changes.items() if name in given.arguments})
        init(*given.args, **given.kwargs)

    kind.__init__ = made


def share_attention():
    """Tells DTensor how to shard the attention that a CPU uses in place of a GPU's: by batch or by head."""
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.experimental import register_sharding

    cpu = torch.ops.aten
    for op, outputs, inputs in ((cpu._scaled_dot_product_flash_attention_for_cpu, 2, 3), (cpu._scaled_dot_product_flash_attention_for_cpu_backward, 3, 6)):
        register_sharding(op.default)(lambda *args, outputs=outputs, inputs=inputs, **_: [
            ([how] * outputs, [how] * inputs + [None] * (len(args) - inputs)) for how in (Replicate(), Shard(0), Shard(1))])


def uncompiled(model=None, *_, **__):
    """Replaces torch.compile: operators run without fusion, each with its own time."""
    tell_once("zbench loopback: torch.compile is left out: operators run as they are, so a fused kernel's time is that of its parts")
    return model if model is not None else lambda f: f


@functools.cache
def tell_once(text):
    print(text, file=sys.stderr)


def install():
    """Installs the replacements, and returns the mode that makes functions use the CPU."""
    import torch.distributed.device_mesh
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.utils._device import DeviceContext

    share_attention()
    stands = functions()
    fill(torch.cuda, stands)
    fill(torch.accelerator, accelerator(stands))
    for name in NVTX:
        setattr(torch.cuda.nvtx, name, lambda *_, **__: None)
    version = ctypes.c_int()
    zt.cluster().devices.said("ncclGetVersion", ctypes.byref(version))
    torch.cuda.nccl.version = lambda: (version.value // 10000, version.value // 100 % 100, version.value % 100)
    torch.distributed.is_nccl_available = lambda: True  # PyTorch's own code uses the function of distributed_c10d
    torch.Tensor.is_pinned = lambda self, device=None: False
    torch.Tensor.pin_memory = lambda self, device=None: self  # modes do not reach here: a data loader calls this on its own thread
    torch.compile = uncompiled
    stand_in("device", DEVICE, lambda *a, **k: ("cuda", a[0]) if len(a) == 1 and isinstance(a[0], int) else (*a, *k.values()))
    copyreg.pickle(DEVICE, lambda d: (torch.device, (str(d),)))
    stand_in("Generator", torch.Generator, lambda device="cpu": (host(device),))
    taking(DeviceContext, device=host)
    taking(torch.distributed.device_mesh.DeviceMesh, device_type=host)
    taking(torch.amp.GradScaler, device=host)
    taking(torch.profiler._KinetoProfile, activities=lambda kinds: kinds and [k for k in kinds if k != torch.profiler.ProfilerActivity.CUDA])
    taking(torch.nn.parallel.DistributedDataParallel, device_ids=lambda _: None, output_device=lambda _: None)
    taking(FullyShardedDataParallel, device_id=lambda _: None)
    cast = torch.autocast.__init__

    def autocast(self, device_type, dtype=None, *args, **kwargs):
        cast(self, host(device_type), dtype or (torch.float16 if is_cuda(device_type) else None), *args, **kwargs)

    torch.autocast.__init__ = autocast
    torch.serialization.register_package(9, lambda storage: None, lambda storage, location: storage if is_cuda(location) else None)
    return OnHost()
