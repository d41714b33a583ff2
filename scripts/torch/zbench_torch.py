"""torch.distributed on zbench's loopback: collectives take the time of a simulated cluster.

`zbench loopback --torch` puts the folder of this file on PYTHONPATH, and sitecustomize beside it
calls install() once a program has imported torch. The process is rank 0. The other ranks are its
equals: they make the same calls when it does, each on its own GPU of the loopback, with the host
costs, noise and faults of the machine file. What operators take is added to the GPUs' streams;
collectives run on streams of their own. No time is the host's: a slower host changes none.

Units: seconds, bytes.
"""
import atexit
import ctypes
import json
import math
import os
import statistics
import sys
import typing

import torch
import torch.distributed as dist
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map

# ncclDataType_t and ncclRedOp_t; a type that RCCL lacks is sent as bytes.
DTYPES = {
    torch.int8: 0, torch.uint8: 1, torch.int32: 2, torch.int64: 4,
    torch.float16: 6, torch.float32: 7, torch.float64: 8, torch.bfloat16: 9,
}
OPS = {"SUM": 0, "PRODUCT": 1, "MAX": 2, "MIN": 3, "AVG": 4}
SMALL = 1 << 16  # bytes of a tensor that a run of sizes computes all the same
# What is replaced, with what stands in for it; printed by ZBENCH_TORCH_LIST=1.
REPLACED = {
    "torch.distributed.init_process_group": "backends nccl, gloo, mpi and ucc are the loopback; the other ranks are not waited for",
    "torch.cpu.Stream, Event, stream, current_stream": "streams of the loopback's GPUs",
    "torch.optim.Optimizer.step": "ends a step of the summary and of the trace",
}


class Refused(RuntimeError):
    """The loopback cannot stand in for what the program asks."""


class Devices:
    """The loopback's GPUs, one a rank. A list that has an entry a rank is called a row here."""

    def __init__(self, count):
        self.hip, self.ccl = ctypes.CDLL("libamdhip64.so.6"), ctypes.CDLL("librccl.so.1")
        self.ccl.ncclGetLastError.restype = ctypes.c_char_p
        self.count, self.spare, self.room = count, [], 0
        self.buffers = [ctypes.c_void_p() for _ in range(count)]
        module, self.delay = ctypes.c_void_p(), ctypes.c_void_p()
        self.ran("hipModuleLoadData", ctypes.byref(module), b"zbench loopback kernels")
        self.ran("hipModuleGetFunction", ctypes.byref(self.delay), module, b"zb_delay")

    def ran(self, name, *args):
        code = getattr(self.hip, name)(*args)
        if code != 0:
            raise Refused(f"{name}: HIP error {code}")

    def said(self, name, *args):
        code = getattr(self.ccl, name)(*args)
        if code != 0:
            raise Refused(f"{name}: {(self.ccl.ncclGetLastError(None) or b'').decode() or code}")

    def made(self, name, *args):
        """A row of handles, each made on its device."""
        row = []
        for d in range(self.count):
            self.hip.hipSetDevice(d)
            row.append(ctypes.c_void_p())
            self.ran(name, ctypes.byref(row[-1]), *args)
        return row

    def record(self, streams):
        """A row of events, recorded on the streams. Row.give returns it."""
        events = self.spare.pop() if self.spare else self.made("hipEventCreate")
        for e, s in zip(events, streams):
            self.hip.hipEventRecord(e, s)
        return events

    def mark(self, stream):
        """An event of the first rank alone, which stays: its time is asked for at the end."""
        event = ctypes.c_void_p()
        self.hip.hipSetDevice(0)
        self.ran("hipEventCreate", ctypes.byref(event))
        self.hip.hipEventRecord(event, stream)
        return event

    def wait(self, streams, events):
        for s, e in zip(streams, events):
            self.hip.hipStreamWaitEvent(s, e, 0)

    def computed(self, streams, ns):
        value = ctypes.c_uint64(ns)
        params = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.pointer(value), ctypes.c_void_p))
        launch, one = self.hip.hipModuleLaunchKernel, (1, 1, 1, 1, 1, 1, 0)
        for d, s in enumerate(streams):
            self.hip.hipSetDevice(d)
            launch(self.delay, *one, s, params, None)

    def buffers_of(self, size):
        """Memory of each device for a message, which is never touched."""
        if size > self.room:
            for d, b in enumerate(self.buffers):
                self.hip.hipSetDevice(d)
                if b:
                    self.ran("hipFree", b)
                self.ran("hipMalloc", ctypes.byref(b), ctypes.c_size_t(size))
            self.room = size
        return self.buffers

    def between(self, one, other):
        """Seconds between two marks that have been."""
        ms = ctypes.c_float()
        self.ran("hipEventElapsedTime", ctypes.byref(ms), one, other)
        return ms.value * 1e-3


class Stream:
    """A stream of every rank, in the place of torch.cpu.Stream. pending has computation that is
    not launched yet, in seconds."""

    def __init__(self, device=None, priority=0, **_):
        self.row, self.pending, self.number = cluster().devices.made("hipStreamCreateWithFlags", 1), 0.0, cluster().streams
        cluster().streams += 1

    def flush(self):
        ns = int(self.pending * 1e9)
        if ns > 0:
            begin = cluster().devices.mark(self.row[0])
            cluster().devices.computed(self.row, ns)
            cluster().spans.append((self.number, begin, cluster().devices.mark(self.row[0]), None))
            self.pending -= ns * 1e-9

    def waits(self, events):
        self.flush()
        cluster().devices.wait(self.row, events)

    def wait_event(self, event):
        if event.row is not None:
            self.waits(event.row)

    def wait_stream(self, other):
        self.wait_event(other.record_event())

    def record_event(self, event=None):
        event = event or Event()
        event.record(self)
        return event

    def synchronize(self):
        """The hosts of all ranks wait."""
        self.flush()
        for s in self.row:
            cluster().devices.hip.hipStreamSynchronize(s)

    def query(self):
        return True


class Event:
    """An event of every rank, in the place of torch.cpu.Event."""

    def __init__(self, *_, **__):
        self.row = None

    def record(self, stream=None):
        stream = stream or cluster().current
        stream.flush()
        self.row = cluster().devices.record(stream.row)

    def wait(self, stream=None):
        (stream or cluster().current).wait_event(self)

    def synchronize(self):
        cluster().current.synchronize()

    def query(self):
        return True

    def __del__(self):
        if self.row is not None and _cluster is not None:
            _cluster.devices.spare.append(self.row)


class Within:
    """torch.cpu.stream: what is launched within goes onto the stream."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        self.before, cluster().current = cluster().current, self.stream or cluster().current
        return self.stream

    def __exit__(self, *_):
        cluster().current = self.before


class Done(dist._Work):
    """A collective that was launched. Its data are there; its end is an event, for which a stream
    waits once: at wait(), or where an operation first touches what the collective writes, since
    the reducer of DistributedDataParallel waits for futures that Python never sees."""

    def __init__(self, events, outputs):
        super().__init__()
        self.end, self.waited, self.outputs = Event(), set(), outputs
        self.end.row = events
        self.future = torch.futures.Future()
        self.future.set_result(outputs)

    def settle(self):
        stream = cluster().current
        if id(stream) not in self.waited:
            self.waited.add(id(stream))
            stream.wait_event(self.end)

    def wait(self, timeout=None):
        self.settle()
        return True

    def synchronize(self):
        self.settle()

    def is_completed(self):
        return True

    def is_success(self):
        return True

    def get_future(self):
        return self.future

    def result(self):
        return self.outputs


class Cluster:
    """The simulated cluster, and what the program has done on it."""

    def __init__(self):
        get = os.environ
        self.ranks, self.sizes = int(get["ZBENCH_TORCH_RANKS"]), get.get("ZBENCH_TORCH_SIZES") == "1"
        self.flops, self.bandwidth = float(get["ZBENCH_TORCH_FLOPS"]), float(get["ZBENCH_TORCH_BANDWIDTH"])
        self.devices = Devices(self.ranks)
        self.written, self.spans, self.steps, self.inside, self.streams = {}, [], [], False, 0

    def begin(self):
        self.current = self.default = Stream()
        self.messages = Stream()
        self.steps.append(self.devices.mark(self.default.row[0]))

    def touch(self, tensors):
        """An operation reads or writes tensors: its stream waits for the collectives that write them."""
        for t in tensors if self.written else ():
            done = self.written.get(t.untyped_storage()._cdata)
            if done is not None:
                done.settle()

    def step(self, *_):
        self.default.flush()
        self.steps.append(self.devices.mark(self.default.row[0]))


_cluster = None


def cluster():
    global _cluster
    if _cluster is None:
        _cluster = Cluster()
        _cluster.begin()
    return _cluster


def small(t):
    """Whether a run of sizes computes a tensor all the same: indices, shapes, a loss."""
    return t.numel() * t.element_size() <= SMALL


def moves(t):
    return small(t) or not cluster().sizes


class Group(dist.ProcessGroup):
    """A process group on a communicator of the loopback. Equal ranks: a sum is n times what one
    has, a gather n copies of it."""

    def __init__(self, rank, size):
        super().__init__(rank, size)
        self.own, self.n = rank, size
        if size not in (1, cluster().ranks):
            raise Refused(f"a group of {size} of {cluster().ranks} ranks: only groups of all ranks, or of one, are simulated")
        d, unique = cluster().devices, (ctypes.c_char * 128)()

        class Id(ctypes.Structure):
            _fields_ = [("internal", ctypes.c_char * 128)]

        d.said("ncclGetUniqueId", ctypes.byref(unique))
        d.ccl.ncclCommInitRank.argtypes = [ctypes.c_void_p, ctypes.c_int, Id, ctypes.c_int]
        self.comms = [ctypes.c_void_p() for _ in range(size)]
        d.said("ncclGroupStart")
        for i, c in enumerate(self.comms):
            d.hip.hipSetDevice(i)
            d.said("ncclCommInitRank", ctypes.byref(c), size, Id.from_buffer_copy(unique), i)
        d.said("ncclGroupEnd")

    def getBackendName(self):
        return "zbench"

    def size(self):
        return self.n

    @property
    def group_name(self):
        return dist.distributed_c10d._world.pg_names[self]

    def run(self, name, part, tensors, writes, op=None, root=None, outputs=None):
        """A collective of all ranks. part is one rank's tensor by which the call counts."""
        cl, d = cluster(), cluster().devices
        count, kind = part.numel(), DTYPES.get(part.dtype)
        size = count * part.element_size()
        if kind is None:
            count, kind = size, DTYPES[torch.uint8]
        cl.touch([*tensors, *writes])
        cl.messages.wait_stream(cl.current)
        room = d.buffers_of(max(1, size * (self.n if name in ("AllGather", "ReduceScatter", "AllToAll") else 1)))
        tail = [x for x in (OPS[op] if op else None, root) if x is not None]
        call, count, begin = getattr(d.ccl, "nccl" + name), ctypes.c_size_t(count), d.mark(cl.messages.row[0])
        d.said("ncclGroupStart")
        for c, s, b in zip(self.comms, cl.messages.row, room):
            if call(b, *([] if name == "Bcast" else [b]), count, kind, *tail, c, s) != 0:
                break
        d.said("ncclGroupEnd")
        cl.spans.append((name, begin, d.mark(cl.messages.row[0]), (self, part.numel(), part.dtype)))
        done = Done(d.record(cl.messages.row), list(writes) if outputs is None else outputs)
        for t in writes:
            cl.written[t.untyped_storage()._cdata] = done
        return done

    def summed(self, t, op):
        if moves(t) and op == "SUM":
            t.mul_(self.n)
        elif moves(t) and op == "PRODUCT":
            t.pow_(self.n)

    def allreduce(self, tensors, opts=None):
        op = named(opts.reduceOp if opts is not None else dist.ReduceOp.SUM)
        for t in tensors:
            self.quietly(lambda: self.summed(t, op))
            done = self.run("AllReduce", t, [], [t], op=op, outputs=tensors)
        return done

    allreduce_coalesced = allreduce

    def broadcast(self, tensors, opts=None):
        for t in tensors:
            done = self.run("Bcast", t, [], [t], root=opts.rootRank if opts is not None else 0, outputs=tensors)
        return done

    def reduce(self, tensors, opts):
        op = named(opts.reduceOp)
        for t in tensors:
            self.quietly(lambda: opts.rootRank == self.own and self.summed(t, op))
            done = self.run("Reduce", t, [], [t], op=op, root=opts.rootRank, outputs=tensors)
        return done

    def allgather(self, outputs, inputs, opts=None):
        for outs, t in zip(outputs, inputs):
            self.quietly(lambda: [copied(o, t) for o in outs])
            done = self.run("AllGather", t, [t], outs, outputs=outputs)
        return done

    def _allgather_base(self, output, t, opts=None):
        self.quietly(lambda: copied(output.view(self.n, -1), t.reshape(1, -1)))
        return self.run("AllGather", t, [t], [output])

    def allgather_into_tensor_coalesced(self, outputs, inputs, opts=None):
        return [self._allgather_base(o, t) for o, t in zip(outputs, inputs)][-1]

    def reduce_scatter(self, outputs, inputs, opts):
        op = named(opts.reduceOp)
        for o, parts in zip(outputs, inputs):
            self.quietly(lambda: (copied(o, parts[self.own]), self.summed(o, op)))
            done = self.run("ReduceScatter", o, parts, [o], op=op, outputs=outputs)
        return done

    def _reduce_scatter_base(self, output, t, opts):
        op = named(opts.reduceOp)
        self.quietly(lambda: (copied(output.view(-1), t.view(self.n, -1)[self.own]), self.summed(output, op)))
        return self.run("ReduceScatter", output, [t], [output], op=op)

    def reduce_scatter_tensor_coalesced(self, outputs, inputs, opts):
        return [self._reduce_scatter_base(o, t, opts) for o, t in zip(outputs, inputs)][-1]

    def alltoall_base(self, output, t, out_splits, in_splits, opts=None):
        if len(set(out_splits or ())) > 1 or len(set(in_splits or ())) > 1:
            raise Refused("all_to_all of unequal parts: equal ranks would receive what they did not send")
        part = t.view(self.n, -1)[self.own]
        self.quietly(lambda: copied(output.view(self.n, -1), part))
        return self.run("AllToAll", part, [t], [output])

    def barrier(self, opts=None):
        return self.run("AllReduce", torch.ones(1, dtype=torch.int32), [], [], op="SUM")

    def quietly(self, do):
        """Does what moves the data: the collective's time has it, not the computation's."""
        cluster().inside = True
        try:
            do()
        finally:
            cluster().inside = False

    def __getattr__(self, name):
        if name in ("send", "recv", "recv_anysource", "alltoall", "gather", "scatter"):
            raise Refused(f"{name}: the ranks are each other's equals, and this call makes them differ")
        raise AttributeError(name)

    def _refuse(self, *args, **kwargs):
        raise Refused("sends, receives, gathers and scatters make ranks differ; here they are each other's equals")

    send = recv = recv_anysource = alltoall = gather = scatter = _refuse


def named(op):
    name = str(getattr(op, "op", op)).rsplit(".", 1)[-1]
    return "SUM" if name.startswith("PREMUL") else name


def copied(to, what):
    """Copies data; what may be a part of to, as where a gather is in place."""
    if moves(to):
        to.copy_(what.clone())


class Costs(TorchDispatchMode):
    """Adds the time of each operator to the current stream: its floating-point operations over the
    GPU's rate, or its bytes over the memory's, whichever is longer. In a run of sizes what is
    large is not computed: written arguments stay as they are, other results are memory that nobody
    has touched."""

    FREE = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "_unsafe_view", "lift_fresh", "set_", "resize_", "_reshape_alias"}

    def __init__(self):
        super().__init__()
        from torch._subclasses.fake_tensor import FakeTensorMode
        from torch.utils.flop_counter import flop_registry
        self.counts, self.fake, self.known = flop_registry, FakeTensorMode(allow_non_fake_inputs=True), {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs, cl = kwargs or {}, cluster()
        name = func._schema.name.split("::")[1]
        if cl.inside or func.is_view or name in self.FREE:
            return func(*args, **kwargs)
        if name == "_local_scalar_dense":
            cl.touch(args[:1])
            cl.current.synchronize()
            return func(*args, **kwargs)
        given = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        cl.touch(given)
        out = self.sized(func, args, kwargs, given) if cl.sizes else func(*args, **kwargs)
        made = [x for x in tree_leaves(out) if isinstance(x, torch.Tensor)]
        count = self.counts.get(func._overloadpacket)
        done = count(*args, **kwargs, out_val=out) if count is not None else 0
        cl.current.pending += max(sum(x.numel() * x.element_size() for x in given + made) / cl.bandwidth, done / cl.flops)
        return out

    def sized(self, func, args, kwargs, given):
        if given and all(small(x) for x in given):
            return func(*args, **kwargs)
        if func._schema.is_mutable:
            places = [(i, s.name) for i, s in enumerate(func._schema.arguments) if s.alias_info is not None and s.alias_info.is_write]
            written = [kwargs[name] if name in kwargs else args[i] for i, name in places]
            n = len(func._schema.returns)
            return None if n == 0 else written[0] if n == 1 else tuple(written[:n])
        shapes = self.shapes_of(func, args, kwargs)
        if not given and all(x.element_size * math.prod(x.size) <= SMALL for x in shapes_in(shapes)):
            return func(*args, **kwargs)
        with _disable_current_modes():
            return tree_map(lambda x: torch.empty_strided(x.size, x.stride, dtype=x.dtype) if isinstance(x, Shape) else x, shapes, is_leaf=lambda x: isinstance(x, Shape))

    def shapes_of(self, func, args, kwargs):
        """The results of an operator, tensors as shapes. Layers repeat: each is worked out once."""
        leaves, tree = tree_flatten((args, kwargs))
        key = (func, str(tree), tuple(shape_of(x) if isinstance(x, torch.Tensor) else (type(x), x) for x in leaves))
        try:
            known = self.known.get(key)
        except TypeError:  # an argument that cannot be a key
            key, known = None, None
        if known is None:
            with _disable_current_modes(), self.fake:
                known = tree_map(shape_of, func(*tree_map(self.faked, args), **tree_map(self.faked, kwargs)))
            if key is not None:
                self.known[key] = known
        return known

    def faked(self, x):
        return self.fake.from_tensor(x) if isinstance(x, torch.Tensor) else x


class Shape(typing.NamedTuple):
    size: tuple
    stride: tuple
    dtype: torch.dtype
    element_size: int


def shape_of(x):
    return Shape(tuple(x.size()), x.stride(), x.dtype, x.element_size()) if isinstance(x, torch.Tensor) else x


def shapes_in(shapes):
    return [x for x in tree_leaves(shapes, is_leaf=lambda x: isinstance(x, Shape)) if isinstance(x, Shape)]


# Kineto's names of the collectives, and by what a rank's own part grows in the larger buffer.
KINETO = {"AllReduce": ("allreduce", False, False), "Bcast": ("broadcast", False, False), "Reduce": ("reduce", False, False), "AllGather": ("_allgather_base", False, True), "ReduceScatter": ("_reduce_scatter_base", True, False), "AllToAll": ("all_to_all", True, True)}


def finish():
    """Prints what a step came to, and writes the trace."""
    if _cluster is None:
        return
    cl, d = _cluster, _cluster.devices
    for stream in (cl.default, cl.messages):
        stream.synchronize()
    at, last = [0.0], cl.steps[0]
    for mark in cl.steps[1:]:
        at.append(at[-1] + d.between(last, mark))
        last = mark
    spans = []
    for name, begin, end, what in cl.spans:
        # From the last mark before: a float of milliseconds has seven digits.
        k = max((i for i, m in enumerate(cl.steps) if d.between(m, begin) >= 0), default=0)
        start = at[k] + d.between(cl.steps[k], begin)
        spans.append((name, start, start + d.between(begin, end), what))
    path = os.environ.get("ZBENCH_TORCH_TRACE")
    if path:
        write_trace(path, cl, at, spans)
    print(summary(cl, at, spans), file=sys.stderr)


def summary(cl, at, spans):
    """One line. The first step of DistributedDataParallel is one bucket and the second moves its
    indices: both are left out where there are more."""
    steps = list(zip(at, at[1:]))
    kept = steps[2:] or steps[-1:]
    if not kept:
        return f"SIMULATED on {cl.ranks} ranks: no optimizer made a step, so there is none to time"
    took, computed, calls = [], [], []
    for begin, end in kept:
        inside = [s for s in spans if begin <= s[1] < end]
        took.append(end - begin)
        computed.append(sum(e - b for name, b, e, what in inside if what is None))
        calls.append([what[1] * torch.empty(0, dtype=what[2]).element_size() for name, b, e, what in inside if what is not None])
    step, busy, sent = statistics.median(took), statistics.median(computed), calls[-1]
    return (f"SIMULATED on {cl.ranks} ranks: {step * 1e3:.2f} ms a step (median of {len(kept)}), computation {busy * 1e3:.2f} ms, "
            f"exposed {(step - busy) * 1e3:.2f} ms ({(step - busy) / step:.1%}); {len(sent)} collectives a step, a rank's part up to {max(sent, default=0) / 2**20:.1f} MiB")


def write_trace(path, cl, at, spans):
    """The first rank's timeline, in the form of PyTorch's profiler."""
    events = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 0, "tid": 0, "ts": b * 1e6, "dur": (e - b) * 1e6} for i, (b, e) in enumerate(zip(at, at[1:]))]
    for i, (name, b, e, what) in enumerate(spans):
        event = {"ph": "X", "cat": "kernel", "name": "computation", "pid": 0, "tid": name, "ts": b * 1e6, "dur": (e - b) * 1e6, "args": {"device": 0, "stream": name, "correlation": i + 1}}
        if what is not None:
            group, n, dtype = what
            kind, grows_in, grows_out = KINETO[name]
            event.update(name="ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", tid=cl.messages.number)
            event["args"].update({"stream": cl.messages.number, "Collective name": kind, "In msg nelems": n * (group.n if grows_in else 1), "Out msg nelems": n * (group.n if grows_out else 1),
                                  "dtype": str(dtype).removeprefix("torch.").replace("bfloat16", "BFloat16").replace("float32", "Float").replace("float64", "Double").replace("float16", "Half").replace("int64", "Long").replace("int32", "Int").replace("uint8", "Byte").replace("int8", "Char"),
                                  "Group size": group.n, "Process Group Name": "0", "Process Group Description": "default_pg", "Process Group Ranks": str(list(range(group.n)))})
        events.append(event)
    with open(path, "w") as f:
        json.dump({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "SIMULATED " + os.environ.get("ZBENCH_TORCH_GPU", "")}],
                   "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": cl.ranks}, "traceEvents": sorted(events, key=lambda e: e["ts"])}, f)


def install():
    """Stands in for what a program expects of GPUs and of other ranks."""
    if os.environ.get("ZBENCH_TORCH_LIST") == "1":
        for what, by in REPLACED.items():
            print(f"zbench loopback: {what}: {by}", file=sys.stderr)
    dist.Backend.register_backend("zbench", lambda store, rank, size, timeout: Group(rank, size), devices=["cpu"])
    begin = dist.init_process_group

    def init_process_group(backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, store=None, group_name="", pg_options=None, device_id=None):
        ranks = cluster().ranks
        if world_size not in (-1, ranks) or rank not in (-1, 0):
            raise Refused(f"init_process_group asks for rank {rank} of {world_size}; this process is rank 0 of {ranks}: --nodes and --gpus-per-node set the world")
        begin("zbench", world_size=ranks, rank=0, store=dist.HashStore(), **({} if timeout is None else {"timeout": timeout}))

    dist.init_process_group = dist.distributed_c10d.init_process_group = init_process_group
    torch.cpu.Stream, torch.cpu.Event, torch.cpu.stream = Stream, Event, Within
    torch.cpu.current_stream = lambda device=None: cluster().current
    torch.cpu.synchronize = lambda device=None: cluster().current.synchronize()
    from torch.optim.optimizer import register_optimizer_step_post_hook
    register_optimizer_step_post_hook(lambda *_: cluster().step())
    cluster()
    Costs().__enter__()
    atexit.register(finish)
