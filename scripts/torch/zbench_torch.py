"""torch.distributed on zbench's loopback: collectives take the time of a simulated cluster.

`zbench loopback --torch` puts the folder of this file on PYTHONPATH, and sitecustomize in the same
folder calls install() once a program has imported torch.

A real rank is a process of the trainer; rank 0 always is one. The ranks from a real rank up to the
next real one are equal to it. An equal rank makes the same calls at the same time, but on its own GPU
of the loopback, with the host costs, noise and faults of the machine file, and in its own groups (see
Family).

The time of an operator is added to the GPUs' streams. Collectives run on streams of their own. All
times are simulated, so a slower host does not change them. gloo moves data between real ranks, which
takes no simulated time.

Units: seconds, bytes.
"""
import atexit
import bisect
import collections
import contextlib
import ctypes
import datetime
import functools
import hashlib
import itertools
import json
import logging
import math
import multiprocessing
import os
import re
import statistics
import sys
import threading
import time
import types
import weakref

import torch
import torch.distributed as dist
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map

# ncclDataType_t and ncclRedOp_t. A type that RCCL lacks is sent as bytes.
DTYPES = {
    torch.int8: 0, torch.uint8: 1, torch.int32: 2, torch.int64: 4,
    torch.float16: 6, torch.float32: 7, torch.float64: 8, torch.bfloat16: 9,
}
OPS = {"SUM": 0, "PRODUCT": 1, "MAX": 2, "MIN": 3, "AVG": 4}
PATIENCE = 5  # seconds that a rank waits for others before it reports the call in which it waits
TIMEOUT = datetime.timedelta(minutes=10)  # torch's own timeout for the nccl backend
SMALL = 1 << 16  # bytes; a run with --sizes computes only tensors up to this size


class Refused(RuntimeError):
    """The loopback cannot provide what the program asks for."""


class Devices:
    """The loopback's GPUs, one for the real rank of this process and one for each rank equal to it. A list with
    one entry per rank is called a row."""

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
        """Returns a row of handles, one per device. The parameter name is the HIP function that makes a handle."""
        row = []
        for d in range(self.count):
            self.hip.hipSetDevice(d)
            row.append(ctypes.c_void_p())
            self.ran(name, ctypes.byref(row[-1]), *args)
        return row

    def record(self, streams):
        """Returns a row of events, recorded on the streams. The row comes from spare, to which Event.__del__ returns
        it."""
        events = self.spare.pop() if self.spare else self.made("hipEventCreate")
        for e, s in zip(events, streams):
            self.hip.hipEventRecord(e, s)
        return events

    def mark(self, stream):
        """Returns a mark: an event of the first rank only. A mark is never used again, because its time is read at the
        end."""
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
        """Returns memory on each device for a message. No one reads or writes it. A block that has become too small
        stays allocated if the device has room, because hipFree would make the host wait for the device in the
        middle of the program."""
        if size > self.room:
            self.room = max(size, 2 * self.room)
            for d, b in enumerate(self.buffers):
                self.hip.hipSetDevice(d)
                before = b.value
                if self.hip.hipMalloc(ctypes.byref(b), ctypes.c_size_t(self.room)) != 0:
                    self.ran("hipFree", ctypes.c_void_p(before))
                    self.ran("hipMalloc", ctypes.byref(b), ctypes.c_size_t(size))
                    self.room = size
        return self.buffers

    def between(self, one, other):
        """Returns the seconds between two completed marks."""
        ms = ctypes.c_float()
        self.ran("hipEventElapsedTime", ctypes.byref(ms), one, other)
        return ms.value * 1e-3

    def joined(self, groups, first):
        """Returns a row of communicators, one per rank for the group that contains the rank. groups is a list of
        (id, ranks). first is the first rank of this process. All processes with ranks in these groups must call at
        the same time."""
        class Id(ctypes.Structure):
            _fields_ = [("internal", ctypes.c_char * 128)]

        self.ccl.ncclCommInitRank.argtypes = [ctypes.c_void_p, ctypes.c_int, Id, ctypes.c_int]
        row = [None] * self.count
        self.said("ncclGroupStart")
        for unique, ranks in groups:
            for i, rank in enumerate(ranks):
                d = rank - first
                if 0 <= d < self.count:
                    row[d] = ctypes.c_void_p()
                    self.hip.hipSetDevice(d)
                    self.said("ncclCommInitRank", ctypes.byref(row[d]), len(ranks), Id.from_buffer_copy(unique), i)
        self.said("ncclGroupEnd")
        return row

    def unique(self):
        text = (ctypes.c_char * 128)()
        self.said("ncclGetUniqueId", ctypes.byref(text))
        return bytes(text)


class Stream:
    """A row of streams, which replaces torch.cpu.Stream. pending is the computation that has not been launched yet,
    in seconds."""

    def __init__(self, device=None, priority=0, **_):
        self.row, self.pending, self.number = cluster().devices.made("hipStreamCreateWithFlags", 1), 0.0, len(cluster().all)
        cluster().all.append(self)

    def flush(self):
        ns = int(self.pending * 1e9)
        if ns > 0:
            begin = cluster().devices.mark(self.row[0])
            cluster().devices.computed(self.row, ns)
            cluster().spans.append((self.number, begin, cluster().devices.mark(self.row[0]), None))
            self.pending -= ns * 1e-9

    def wait_event(self, event):
        if event.row is not None:
            self.flush()
            cluster().devices.wait(self.row, event.row)

    def wait_stream(self, other):
        self.wait_event(other.record_event())

    def record_event(self, event=None):
        event = event or Event()
        event.record(self)
        return event

    def synchronize(self):
        """Makes the hosts of all ranks wait."""
        self.flush()
        cl = cluster()
        late = threading.Timer(cl.timeout.total_seconds(), cl.give_up)
        late.daemon = True
        late.start()
        with cl.waiting(f"for the GPU; its last call: {cl.said or 'none'}"):
            for s in self.row:
                cl.devices.hip.hipStreamSynchronize(s)
        late.cancel()
        cl.sees(self.row[0])

    def query(self):
        return True

    def is_capturing(self):
        return False


class Event:
    """A row of events, which replaces torch.cpu.Event."""

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

    def elapsed_time(self, other):
        """Returns the milliseconds between two completed events."""
        return cluster().devices.between(self.row[0], other.row[0]) * 1e3

    def __del__(self):
        if self.row is not None and _cluster is not None:
            _cluster.devices.spare.append(self.row)


class Within:
    """Replaces torch.cpu.stream: work that is launched inside the context goes onto the stream."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        self.before, cluster().current = cluster().current, self.stream or cluster().current
        return self.stream

    def __exit__(self, *_):
        cluster().current = self.before


class Done(dist._Work):
    """A launched collective. Its data are available at once. Its end is an event, and a stream waits for it once:
    at wait(), at the end of a backward pass of DistributedDataParallel, or when an operation first touches the
    collective's output."""

    def __init__(self, events, outputs):
        super().__init__()
        self.end, self.waited, self.outputs = Event(), set(), outputs
        self.end.row = events
        self.future = torch.futures.Future()
        self.future.set_result(outputs)

    def wait(self, timeout=None):
        stream = cluster().current
        if id(stream) not in self.waited:
            self.waited.add(id(stream))
            stream.wait_event(self.end)
        return True

    synchronize = wait

    def is_completed(self):
        return True

    is_success = is_completed

    def get_future(self):
        return self.future

    def result(self):
        return self.outputs


class Cluster:
    """The simulated cluster, and the program's activity on it."""

    def __init__(self):
        get = os.environ
        self.ranks, self.sizes = int(get["ZBENCH_TORCH_RANKS"]), get.get("ZBENCH_TORCH_SIZES") == "1"
        self.flops, self.bandwidth = float(get["ZBENCH_TORCH_FLOPS"]), float(get["ZBENCH_TORCH_BANDWIDTH"])
        self.rank, self.real = int(get["RANK"]), [int(r) for r in get.get("ZBENCH_TORCH_REAL", "0").split(",")]
        self.place = self.real.index(self.rank)
        self.devices = Devices((self.real + [self.ranks])[self.place + 1] - self.rank)
        self.written, self.spans, self.steps, self.inside, self.all, self.failed, self.bucket = {}, [], [], False, [], False, 0
        self.traced, self.gradients, self.backward = "ZBENCH_TORCH_TRACE" in get, [], None
        # ends is the optimizer whose step ends a training step. beside has the other optimizers that have made a step
        # since then. limit is the number of training steps to run, 0 for all.
        self.limit, self.trains, self.ends, self.beside = int(get.get("ZBENCH_TORCH_STEPS", "0")), False, lambda: None, set()
        self.modes, self.held = [], None  # held measures the memory in use, for torch.cuda
        self.charged = [{}]  # per step: the calls and seconds of each operator
        # Real ranks meet in files whose names begin with self.meeting. self.doing has one file per real rank, in which
        # that rank reports its activity.
        self.meeting, self.store, self.exchanges, self.timeout = get["ZBENCH_LOOPBACK_SHARED"], dist.HashStore(), {}, TIMEOUT
        if len(self.real) > 1:
            self.store = dist.FileStore(self.meeting + ".store", len(self.real))
        self.doing, self.said, self.waits = [open(f"{self.meeting}.rank{r}", "a+b") for r in self.real] if len(self.real) > 1 else [], "", None
        if self.doing:
            threading.Thread(target=self.watch, daemon=True).start()

    def begin(self):
        self.current = self.default = Stream()
        self.steps.append(self.devices.mark(self.default.row[0]))
        # shown is the program's clock, in seconds since now. origin is a completed mark with its time.
        self.shown, self.origin, self.ticks = 0.0, (self.steps[0], 0.0), [self.devices.mark(self.default.row[0]) for _ in range(2)]
        self.passes = getattr(ctypes.CDLL(None), "zbench_clock_pass", None)
        if self.passes is not None:
            self.passes(ctypes.c_int64(0))

    def sees(self, stream):
        """Advances the program's clock to the time of a stream of the first rank, for which the program has waited."""
        mark = self.ticks[0]
        self.devices.hip.hipEventRecord(mark, stream)
        self.reaches(mark)
        self.ticks.reverse()

    def reaches(self, mark):
        """Advances the program's clock at least to a completed mark."""
        at = self.origin[1] + self.devices.between(self.origin[0], mark)
        self.origin = (mark, at)
        ns = int((at - self.shown) * 1e9)
        if ns > 0 and self.passes is not None:
            self.shown += ns * 1e-9
            self.passes(ctypes.c_int64(ns))

    def handed(self, parameter):
        """Records for the trace that a parameter has its gradient, with DistributedDataParallel."""
        self.default.flush()
        self.gradients.append([self.backward, tuple(parameter.shape), parameter.dtype, self.devices.mark(self.default.row[0]), None])
        self.backward = None

    def reduced(self):
        """Records for the trace that the reducer has divided the gradient. The reducer sends the gradient afterwards."""
        self.default.flush()
        self.gradients[-1][-1] = self.devices.mark(self.default.row[0])

    def owner(self, rank):
        """Returns the index of the real rank to which a rank is equal."""
        return bisect.bisect(self.real, rank) - 1

    def watch(self):
        """Reports each long wait for other ranks once."""
        told = None
        while True:
            waits = self.waits
            time.sleep(PATIENCE)
            if waits is not None and waits is self.waits and waits is not told:
                told = waits
                print(f"zbench loopback: rank {self.rank} waits {waits[0]}. " + "; ".join(self.others()), file=sys.stderr, flush=True)

    @contextlib.contextmanager
    def waiting(self, what):
        """Marks the body of the context as a wait for other ranks."""
        before, self.waits = self.waits, (what,)
        try:
            yield
        finally:
            self.waits = before

    def says(self, text):
        """Publishes this rank's activity for the other real ranks."""
        self.said = text
        if self.doing:
            self.doing[self.place].truncate(0)
            self.doing[self.place].write(text.encode())
            self.doing[self.place].flush()

    def others(self):
        """Returns the latest activity of the other real ranks."""
        for i, f in enumerate(self.doing):
            if i != self.place:
                f.seek(0)
                yield f"rank {self.real[i]}: {f.read().decode() or 'no call yet'}"

    def give_up(self):
        """Ends this process, which has waited for a collective longer than the timeout of its groups."""
        last = next((f"{name} of {what[1]:,} {str(what[2]).removeprefix('torch.')} in group {what[0].title}" for name, _, _, what in reversed(self.spans) if what), "no collective")
        print(f"zbench loopback: rank {self.rank} waited {self.timeout} for what never ends; its last call: {last}. " + "; ".join(self.others()), file=sys.stderr, flush=True)
        os._exit(1)

    def exchange(self, owners):
        """Returns the process group that moves data among real ranks. owners has their indices."""
        if owners not in self.exchanges:
            name, options = "exchange " + ",".join(map(str, owners)), dist.ProcessGroupGloo._Options()
            # All processes are on this host, but its name may resolve to another address.
            options._devices, options._timeout = [dist.ProcessGroupGloo.create_device(hostname="127.0.0.1")], self.timeout
            with self.waiting("in " + self.said):
                self.exchanges[owners] = dist.ProcessGroupGloo(dist.PrefixStore(name, self.store), owners.index(self.place), len(owners), options)
        return self.exchanges[owners]

    def touch(self, tensors):
        """Makes the stream of an operation wait for the collectives that write the tensors which it uses."""
        for t in tensors if self.written else ():
            done = self.written.get(t.untyped_storage()._cdata)
            if done is not None:
                done.wait()

    def charge(self, name, seconds, profiled):
        """Adds an operator's time to the current stream. profiled is true if the time comes from a profile."""
        if seconds == 0:
            return
        self.current.pending += seconds
        calls = self.charged[-1].setdefault((name, profiled), [0, 0.0])
        calls[0] += 1
        calls[1] += seconds

    def step(self, optimizer):
        """Ends a training step after an optimizer has made a step. If several optimizers take turns, the first one
        ends the training steps, until another makes two steps without it. Afterwards the program's clock shows the
        end of the step, even if the program has not waited for the GPU: the program's own time on the host is not
        modelled."""
        if self.ends() not in (None, optimizer) and id(optimizer) not in self.beside:
            self.beside.add(id(optimizer))
            return
        self.ends, self.beside = weakref.ref(optimizer), set()
        self.default.flush()
        self.charged.append({})
        self.steps.append(self.devices.mark(self.default.row[0]))
        begun = time.process_time()
        while self.devices.hip.hipEventQuery(self.steps[-1]) != 0 and time.process_time() < begun + 1:
            os.sched_yield()
        if self.devices.hip.hipEventQuery(self.steps[-1]) == 0:
            self.reaches(self.steps[-1])
        if len(self.steps) - 1 == self.limit:
            finish()
            end_process(0)


_cluster = None


def cluster():
    global _cluster
    if _cluster is None:
        _cluster = Cluster()
        _cluster.begin()
    return _cluster


def small(t):
    """Reports whether a run with --sizes computes a tensor, such as indices, shapes or a loss."""
    return t.numel() * t.element_size() <= SMALL


def moves(t):
    return small(t) or not cluster().sizes


class Family:
    """Groups of equal size that were made one after the other and share no rank, such as the groups of one dimension
    of a mesh. When a real rank calls a collective on its group, each rank equal to it makes the call on its own group
    of the family. Each rank has one communicator and one stream."""

    def __init__(self, number, groups):
        cl, d = cluster(), cluster().devices
        self.stream, named = Stream(), []
        for ranks in groups:
            owners = {cl.owner(r) for r in ranks}
            if cl.place not in owners:
                continue
            key = f"id {number} {ranks[0]}"
            if len(owners) == 1:
                unique = d.unique()
            elif cl.place == cl.owner(ranks[0]):
                unique = d.unique()
                cl.store.set(key, unique.hex())
            else:
                cl.store.set_timeout(cl.timeout)
                with cl.waiting(f"for rank {ranks[0]} to make the group of ranks {ranks[0]} to {ranks[-1]}"):
                    unique = bytes.fromhex(cl.store.get(key).decode())
            named.append((unique, ranks))
        self.comms = d.joined(named, cl.rank)


class Families:
    """The groups of a program, in the order in which every rank makes them."""

    def __init__(self):
        self.made = []  # (ranks, Group or None)

    def add(self, ranks, group):
        """Adds a group. Once its family contains all ranks, the family's communicators are made at once, so that each
        process makes them at the same point of its program."""
        self.made.append((ranks, group))
        own = self.around(len(self.made) - 1)
        if sum(len(self.made[i][0]) for i in own) == cluster().ranks:
            self.join(own)

    def around(self, at):
        """Returns the indices of the groups in the same family as the group with index at."""
        ranks = set(self.made[at][0])
        own, size = [at], len(ranks)
        for places in (range(at - 1, -1, -1), range(at + 1, len(self.made))):
            for i in places:
                other = self.made[i][0]
                if len(other) != size or ranks & set(other):
                    break
                ranks |= set(other)
                own.append(i)
        return sorted(own)

    def join(self, own):
        family = Family(own[0], [self.made[i][0] for i in own])
        for i in own:
            if self.made[i][1] is not None:
                self.made[i][1].family = family

    def of(self, group):
        """Returns a group's family. If the family lacks some ranks, these ranks make no calls on it."""
        if group.family is None:
            self.join(self.around(next(i for i, (_, g) in enumerate(self.made) if g is group)))
        return group.family


families = Families()


class Group(dist.ProcessGroup):
    """A process group on communicators of the loopback. A rank has the same data as the real rank to which it is
    equal."""

    def __init__(self, rank, ranks, name):
        super().__init__(rank, len(ranks))
        self.own, self.n, self.ranks, self.title, self.family, self.calls = rank, len(ranks), ranks, name, None, 0
        self.owners = collections.Counter(cluster().owner(r) for r in ranks)

    def getBackendName(self):
        return "zbench"

    def size(self):
        return self.n

    @property
    def group_name(self):
        return dist.distributed_c10d._world.pg_names[self]

    def run(self, name, part, tensors, writes, op=None, root=None, outputs=None):
        """Makes a call on all ranks. part is one rank's tensor and gives the number of elements. root is a rank in the
        group: the root, or the peer of a send or receive."""
        cl, d, family = cluster(), cluster().devices, families.of(self)
        count, kind = part.numel(), DTYPES.get(part.dtype)
        size = count * part.element_size()
        if kind is None:
            count, kind = size, DTYPES[torch.uint8]
        if op is not None and op not in OPS:
            raise Refused(f"{name} with {op}: RCCL has no such reduction")
        cl.touch([*tensors, *writes])
        family.stream.wait_stream(cl.current)
        room = d.buffers_of(max(1, size * (self.n if name in ("AllGather", "ReduceScatter", "AllToAll", "Gather", "Scatter") else 1)))
        tail = [x for x in (OPS[op] if op else None, root) if x is not None]
        call, count, begin = getattr(d.ccl, "nccl" + name), ctypes.c_size_t(count), d.mark(family.stream.row[0])
        d.said("ncclGroupStart")
        for c, s, b in zip(family.comms, family.stream.row, room):
            own = ctypes.c_void_p(b.value + size * (root or 0) * (name in ("Gather", "Scatter")))  # the root's part is in place
            if c is not None and call(own if name == "Gather" else b, *([] if name in ("Bcast", "Send", "Recv") else [own if name == "Scatter" else b]), count, kind, *tail, c, s) != 0:
                break
        d.said("ncclGroupEnd")
        return self.launched(name, begin, writes, outputs, part.numel(), part.dtype)

    def launched(self, name, begin, writes, outputs, *what):
        """Records a call on the group's stream. Operations that use what it writes wait for it."""
        cl, stream = cluster(), self.family.stream
        cl.spans.append((name, begin, cl.devices.mark(stream.row[0]), (self, *what)))
        done = Done(cl.devices.record(stream.row), list(writes) if outputs is None else outputs)
        for t in writes:
            cl.written[t.untyped_storage()._cdata] = done
        return done

    def agree(self, what, sent):
        """Checks that the real ranks of the group make the same call; if not, all of them raise an error. Returns the
        tensor of each real rank by index. A run with --sizes does not exchange large tensors: their place has this
        rank's own tensor."""
        cl = cluster()
        self.calls += 1
        owners = tuple(sorted(self.owners))
        if len(owners) == 1:
            return {owners[0]: sent}
        text = f"call {self.calls} of group {self.title}: {what}" + ("" if sent is None else f" of {sent.numel():,} {str(sent.dtype).removeprefix('torch.')}")
        cl.says(text)
        sign = torch.tensor([int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big")])
        signs = [torch.empty_like(sign) for _ in owners]
        try:
            with cl.waiting("in " + text):
                cl.exchange(owners).allgather([signs], [sign]).wait()
        except RuntimeError as e:
            raise Refused(f"rank {cl.rank} waits in {text}, which not all ranks make. " + "; ".join(cl.others())) from e
        if any(not torch.equal(sign, s) for s in signs):
            raise Refused(f"ranks make different calls. rank {cl.rank}: {text}; " + "; ".join(cl.others()))
        if sent is None or not moves(sent):
            return {o: sent for o in owners}
        parts = [torch.empty_like(sent, memory_format=torch.contiguous_format) for _ in owners]
        cl.exchange(owners).allgather([parts], [sent.contiguous()]).wait()
        return dict(zip(owners, parts))

    def summed(self, sent, op):
        """Returns the reduction over the ranks of the group."""
        if op == "PREMUL_SUM":
            raise Refused("PREMUL_SUM: Python does not tell its factor; reduce with SUM and multiply, or run with --sizes")
        parts = [(x, self.owners[o]) for o, x in sent.items()]
        if op in ("MAX", "MIN"):
            return (torch.amax if op == "MAX" else torch.amin)(torch.stack([x for x, _ in parts]), 0)
        if op == "PRODUCT":
            return math.prod(x.pow(n) for x, n in parts)
        total = sum((x * n for x, n in parts[1:]), parts[0][0] * parts[0][1])
        return total if op == "SUM" else total / self.n

    def reduced(self, what, op, t, put):
        """Agrees on a reduction, and gives its result to the function put."""
        def do():
            sent = self.agree(f"{what} {op}", t)
            if put is not None and moves(t):
                put(self.summed(sent, op))

        self.quietly(do)

    def of_each(self, sent):
        """Returns what each rank of the group sent, in the group's order."""
        return [sent[cluster().owner(r)] for r in self.ranks]

    def allreduce(self, tensors, opts=None):
        op = named(opts.reduceOp if opts is not None else dist.ReduceOp.SUM)
        for t in tensors:
            self.reduced("all_reduce", op, t, t.copy_)
            done = self.run("AllReduce", t, [], [t], op=counted(op), outputs=tensors)
        return done

    allreduce_coalesced = allreduce

    def broadcast(self, tensors, opts=None):
        root = opts.rootRank if opts is not None else 0
        for t in tensors:
            self.quietly(lambda: copied(t, self.of_each(self.agree(f"broadcast of rank {root}", t))[root]))
            done = self.run("Bcast", t, [], [t], root=root, outputs=tensors)
        return done

    def reduce(self, tensors, opts):
        op = named(opts.reduceOp)
        for t in tensors:
            self.reduced(f"reduce to rank {opts.rootRank}", op, t, t.copy_ if opts.rootRank == self.own else None)
            done = self.run("Reduce", t, [], [t], op=counted(op), root=opts.rootRank, outputs=tensors)
        return done

    def allgather(self, outputs, inputs, opts=None):
        for outs, t in zip(outputs, inputs):
            if len(outs) != self.n:
                raise Refused(f"all_gather into {len(outs)} tensors: the group has {self.n} ranks")
            self.quietly(lambda: [copied(o, x) for o, x in zip(outs, self.of_each(self.agree("all_gather", t)))])
            done = self.run("AllGather", t, [t], outs, outputs=outputs)
        return done

    def _allgather_base(self, output, t, opts=None):
        self.quietly(lambda: [copied(o, x.reshape(-1)) for o, x in zip(output.view(self.n, -1), self.of_each(self.agree("all_gather", t)))])
        return self.run("AllGather", t, [t], [output])

    def allgather_into_tensor_coalesced(self, outputs, inputs, opts=None):
        return [self._allgather_base(o, t) for o, t in zip(outputs, inputs)][-1]

    def reduce_scatter(self, outputs, inputs, opts):
        return [self._reduce_scatter_base(o, torch.stack(parts), opts) for o, parts in zip(outputs, inputs)][-1]

    def _reduce_scatter_base(self, output, t, opts):
        op = named(opts.reduceOp)
        self.reduced("reduce_scatter", op, t, lambda total: output.view(-1).copy_(total.view(self.n, -1)[self.own]))
        return self.run("ReduceScatter", output, [t], [output], op=counted(op))

    def reduce_scatter_tensor_coalesced(self, outputs, inputs, opts):
        return [self._reduce_scatter_base(o, t, opts) for o, t in zip(outputs, inputs)][-1]

    def alltoall(self, outputs, inputs, opts=None):
        sent, received = (x[0].new_empty(sum(y.numel() for y in x)) for x in (inputs, outputs))
        self.quietly(lambda: moves(sent) and torch.cat([x.reshape(-1) for x in inputs], out=sent))
        done = self.alltoall_base(received, sent, [x.numel() for x in outputs], [x.numel() for x in inputs])
        self.quietly(lambda: [copied(o, x.view_as(o)) for o, x in zip(outputs, received.split([x.numel() for x in outputs]))])
        return done

    def alltoall_base(self, output, t, out_splits, in_splits, opts=None):
        unequal = len(set(out_splits or ())) > 1 or len(set(in_splits or ())) > 1
        if len(self.owners) == self.n > 1:  # the parts of one rank may be equal while those of another are not
            told = []
            self.quietly(lambda: told.extend(self.agree("all_to_all", torch.tensor([int(unequal)])).values()))
            if any(told) and not unequal:
                unequal, each = True, [t.shape[0] // self.n] * self.n
                out_splits, in_splits = out_splits or each, in_splits or each
        if unequal:
            return self.unequal(output, t, list(out_splits), list(in_splits))
        part = t.view(self.n, -1)[self.own]
        self.quietly(lambda: [copied(o, x.view(self.n, -1)[self.own]) for o, x in zip(output.view(self.n, -1), self.of_each(self.agree("all_to_all", t)))])
        return self.run("AllToAll", part, [t], [output])

    def unequal(self, output, t, out_splits, in_splits):
        """Makes an all_to_all with unequal parts, as messages between real ranks."""
        cl, d = cluster(), cluster().devices
        owners = tuple(sorted(self.owners))
        if len(owners) < self.n:
            raise Refused(f"all_to_all of unequal parts: what ranks that are no process would send may differ. Name all ranks of the group in --real: {','.join(map(str, self.ranks))}")
        if moves(t):
            self.quietly(lambda: cl.exchange(owners).alltoall_base(output, t.contiguous(), out_splits, in_splits, dist.AllToAllOptions()).wait())
        row, width = math.prod(t.shape[1:]), t.element_size()
        cl.touch([t, output])
        family = families.of(self)
        family.stream.wait_stream(cl.current)
        buffer, begin = d.buffers_of(max(1, output.numel() * width, t.numel() * width))[0], d.mark(family.stream.row[0])
        d.said("ncclGroupStart")
        for name, splits in (("ncclSend", in_splits), ("ncclRecv", out_splits)):
            for peer, n in enumerate(splits):
                d.said(name, buffer, ctypes.c_size_t(n * row * width), DTYPES[torch.uint8], peer, family.comms[0], family.stream.row[0])
        d.said("ncclGroupEnd")
        return self.launched("AllToAllv", begin, [output], None, t.numel(), t.dtype, output.numel(), in_splits, out_splits)

    def gather(self, outputs, inputs, opts):
        for i, t in enumerate(inputs):
            outs = outputs[i] if opts.rootRank == self.own else []
            self.quietly(lambda: [copied(o, x) for o, x in zip(outs, self.of_each(self.agree(f"gather to rank {opts.rootRank}", t)))])
            done = self.run("Gather", t, [t], outs, root=opts.rootRank, outputs=outs)
        return done

    def scatter(self, outputs, inputs, opts):
        for i, t in enumerate(outputs):
            parts = t.new_empty(self.n, *t.shape)
            self.quietly(lambda: opts.rootRank == self.own and moves(parts) and torch.stack(inputs[i], out=parts))
            self.quietly(lambda: copied(t, self.of_each(self.agree(f"scatter of rank {opts.rootRank}", parts))[opts.rootRank][self.own]))
            done = self.run("Scatter", t, [], [t], root=opts.rootRank, outputs=outputs)
        return done

    # PyTorch's names from 2.14 on.
    all_gather_single, all_gather_single_coalesced = _allgather_base, allgather_into_tensor_coalesced
    reduce_scatter_single, reduce_scatter_single_coalesced = _reduce_scatter_base, reduce_scatter_tensor_coalesced
    all_to_all_single = alltoall_base

    def barrier(self, opts=None):
        self.quietly(lambda: self.agree("barrier", None))
        return self.run("AllReduce", torch.ones(1, dtype=torch.int32), [], [], op="SUM")

    def peer(self, what, rank):
        """Returns the process group shared with a real rank, and that rank's index in it."""
        cl = cluster()
        owner = cl.owner(self.ranks[rank])
        if owner == cl.place:
            raise Refused(f"{what} rank {self.ranks[rank]}, which equals rank {cl.rank} and so makes the same call: name a rank of each role in --real")
        owners = tuple(sorted(self.owners))
        return cl.exchange(owners), owners.index(owner)

    def send(self, tensors, rank, tag=0):
        for t in tensors:
            cluster().says(f"send of {t.numel():,} {str(t.dtype).removeprefix('torch.')} of group {self.title} to rank {self.ranks[rank]}")
            exchange, place = self.peer("send to", rank)
            self.sent = getattr(self, "sent", [])[-64:] + [exchange.send([t.contiguous() if moves(t) else torch.empty(1)], place, tag)]
            done = self.run("Send", t, [t], [], root=rank, outputs=tensors)
        return done

    def recv(self, tensors, rank, tag=0):
        for t in tensors:
            cluster().says(f"receive of {t.numel():,} {str(t.dtype).removeprefix('torch.')} of group {self.title} of rank {self.ranks[rank]}")
            exchange, place = self.peer("receive of", rank)
            into = torch.empty_like(t, memory_format=torch.contiguous_format) if moves(t) else torch.empty(1)
            try:
                with cluster().waiting("in a " + cluster().said):
                    exchange.recv([into], place, tag).wait()
            except RuntimeError as e:
                raise Refused(f"rank {cluster().rank} waits for what rank {self.ranks[rank]} does not send. " + "; ".join(cluster().others())) from e
            self.quietly(lambda: moves(t) and t.copy_(into))
            done = self.run("Recv", t, [], [t], root=rank, outputs=tensors)
        return done

    def quietly(self, do):
        """Calls the function do, which moves the data of a collective. The time of its operators is not added, because
        the collective's time includes it."""
        cluster().inside = True
        try:
            do()
        finally:
            cluster().inside = False

    def recv_anysource(self, *args, **kwargs):
        raise Refused("receives of any rank are not simulated: which rank's comes first depends on times")


def named(op):
    return str(getattr(op, "op", op)).rsplit(".", 1)[-1]


def counted(op):
    """Returns RCCL's name of the reduction with the same time. The factor of PREMUL_SUM changes no time."""
    return "SUM" if op == "PREMUL_SUM" else op


def copied(to, what):
    """Copies one tensor into another. The source (what) may be a part of the target (to), as in a
    gather in place."""
    if moves(to):
        to.copy_(what.clone())


# zbench's names of element types in a profile.
OPERANDS = {torch.bool: "uint8", torch.uint8: "uint8", torch.int8: "int8", torch.int16: "half", torch.int32: "int32", torch.int64: "int64", torch.float16: "half", torch.bfloat16: "bfloat16", torch.float32: "float", torch.float64: "double"}
# A CPU runs some operators under another name than a GPU. Each entry has the GPU's names, and how many of the first
# inputs both have in common.
INSTEAD = {"aten::native_batch_norm": (("aten::miopen_batch_norm", "aten::cudnn_batch_norm"), 3), "aten::native_batch_norm_backward": (("aten::miopen_batch_norm_backward", "aten::cudnn_batch_norm_backward"), 3)}
for _n, _of in ((3, ""), (4, "_backward")):
    INSTEAD["aten::_scaled_dot_product_flash_attention_for_cpu" + _of] = tuple(f"aten::_scaled_dot_product_{k}_attention{_of}" for k in ("flash", "efficient", "cudnn")), _n


def measured(path):
    """Reads the seconds of operators by name and inputs."""
    with open(path) as f:
        known = {key: float(seconds) for seconds, key in (line.rstrip("\n").split(" ", 1) for line in f)}
    instead = {gpu: (cpu, n) for cpu, (names, n) in INSTEAD.items() for gpu in names}
    for key, seconds in list(known.items()):
        name, *inputs = key.split(" ")
        if name in instead:
            cpu, n = instead[name]
            known.setdefault(" ".join([cpu, *inputs[:n]]), seconds)
    return known


def called(func, args, kwargs):
    """Returns an operator's name and its inputs, without scalars, as zbench writes them for a profile."""
    words = [func._schema.name]
    for i, a in enumerate(func._schema.arguments):
        x = args[i] if i < len(args) else kwargs.get(a.name)
        if isinstance(x, torch.Tensor):
            if x.dim():
                words.append(OPERANDS.get(x.dtype, "?") + str(list(x.shape)).replace(" ", ""))
        elif isinstance(x, (list, tuple)) and x and str(a.type) == "List[Tensor]":
            words.append("TensorList" + str([list(t.shape) for t in x]).replace(" ", ""))
    return words


class Costs(TorchDispatchMode):
    """Adds the time of each operator to the current stream. The time comes from a profile if it has the operator.
    Otherwise it is the longer of two times: floating-point operations over the GPU's rate, and bytes over the memory's
    bandwidth. A run with --sizes does not compute large tensors: an argument that an operator would write stays as it
    is, and a new result is uninitialised memory."""

    COLLECTIVES = {"_c10d_functional", "_c10d_functional_autograd", "c10d_functional", "c10d", "_dtensor"}  # namespaces
    FREE = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "_unsafe_view", "lift_fresh", "set_", "resize_", "_reshape_alias"}

    def __init__(self):
        super().__init__()
        from torch._subclasses.fake_tensor import FakeTensorMode
        from torch.utils.flop_counter import flop_registry
        self.counts, self.fake, self.known = flop_registry, FakeTensorMode(allow_non_fake_inputs=True), {}
        self.times = measured(os.environ["ZBENCH_TORCH_TIMES"]) if "ZBENCH_TORCH_TIMES" in os.environ else None

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs, cl = kwargs or {}, cluster()
        name = func._schema.name.split("::")[1]
        if any(t.__name__ in ("DTensor", "AsyncCollectiveTensor") for t in types):
            return NotImplemented  # these types then call the operators on a rank's shards, which come here again
        if cl.inside or func.is_view or name in self.FREE:
            return func(*args, **kwargs)
        if name == "_local_scalar_dense":
            cl.touch(args[:1])
            cl.current.synchronize()
            return func(*args, **kwargs)
        given = tensors_in((args, kwargs))
        if any(x.device.type == "meta" for x in given):
            return func(*args, **kwargs)  # tensors on the meta device have shapes but no data
        if func.namespace in self.COLLECTIVES:  # these operators call the process group, which adds their time
            if name in ("all_reduce", "broadcast"):  # these two work on a copy, which also takes time
                cl.charge("aten::clone", 2 * sum(x.numel() * x.element_size() for x in given) / cl.bandwidth, False)
            return func(*args, **kwargs)
        cl.touch(given)
        out = self.sized(func, args, kwargs, given) if cl.sizes else func(*args, **kwargs)
        if self.times is not None:
            words = called(func, args, kwargs)
            seconds = self.times.get(" ".join(words))
            if seconds is None and words[0] in INSTEAD:
                seconds = self.times.get(" ".join(words[:1 + INSTEAD[words[0]][1]]))
            if seconds is not None:
                cl.charge(words[0], seconds, True)
                return out
        made = tensors_in(out)
        if cl.held is not None and not all(small(x) for x in made):
            cl.held.now()
        count = self.counts.get(func._overloadpacket)
        done = count(*args, **kwargs, out_val=out) if count is not None else 0
        cl.charge(func._schema.name, max(sum(x.numel() * x.element_size() for x in given + made) / cl.bandwidth, done / cl.flops), False)
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
        made = tensors_in(shapes)
        if not given and (all(small(x) for x in made) or not any(x.dtype.is_floating_point for x in made)):
            return func(*args, **kwargs)  # integers are computed at any size, because a data loader reads indices from them
        with _disable_current_modes():
            return like(shapes, "cpu")

    def shapes_of(self, func, args, kwargs):
        """Returns the results of an operator, with tensors on the meta device. Layers repeat, so results are kept by
        operator and arguments."""
        leaves, tree = tree_flatten((args, kwargs))
        key = (func, str(tree), tuple((x.size(), x.stride(), x.dtype) if isinstance(x, torch.Tensor) else (type(x), x) for x in leaves))
        try:
            known = self.known.get(key)
        except TypeError:  # an argument that is not hashable
            key, known = None, None
        if known is None:
            with _disable_current_modes():
                with self.fake:
                    fakes = tree_map(lambda x: self.fake.from_tensor(x) if isinstance(x, torch.Tensor) else x, (args, kwargs))
                    known = func(*fakes[0], **fakes[1])
                known = like(known, "meta")
            if key is not None:
                self.known[key] = known
        return known


def like(tree, device):
    """Returns the tree with uninitialised tensors of the same shapes on a device."""
    return tree_map(lambda x: torch.empty_strided(x.size(), x.stride(), dtype=x.dtype, device=device) if isinstance(x, torch.Tensor) else x, tree)


def tensors_in(tree):
    return [x for x in tree_leaves(tree) if isinstance(x, torch.Tensor)]


# For each collective: Kineto's name, and whether the input and the output have the parts of all ranks.
KINETO = {"AllReduce": ("allreduce", False, False), "Bcast": ("broadcast", False, False), "Reduce": ("reduce", False, False), "AllGather": ("_allgather_base", False, True), "ReduceScatter": ("_reduce_scatter_base", True, False), "AllToAll": ("all_to_all", True, True), "AllToAllv": ("all_to_allv", False, False), "Gather": ("gather", False, True), "Scatter": ("scatter", True, False), "Send": ("send", False, False), "Recv": ("recv", False, False)}


def happened(cl, record):
    """Reports whether all marks of a step, a span or a gradient have completed."""
    return all(cl.devices.hip.hipEventQuery(m) == 0 for m in (record if isinstance(record, (tuple, list)) else (record,)) if isinstance(m, ctypes.c_void_p))


def finish():
    """Prints the summary of a step, and writes the trace. If the program did nothing on the cluster, it ends here with
    exit code NOTHING."""
    error = getattr(sys, "last_value", None)
    interrupted = isinstance(error, KeyboardInterrupt)
    if _cluster is not None and not _cluster.failed:
        _cluster.says("ended after " + (_cluster.said or "no call"))
    if error is not None and not interrupted and _cluster is not None and len(_cluster.real) > 1:
        end_process(1)  # at once: other ranks would wait while Python shuts down
    if _cluster is None or _cluster.failed or error is not None and not interrupted:
        return  # a stream may wait for a collective that will never end
    cl, d = _cluster, _cluster.devices
    cl.failed = True  # once is enough
    if interrupted:  # only completed marks count: waiting for a stream could mean waiting for another rank
        cl.steps, cl.spans, cl.gradients = ([x for x in kind if happened(cl, x)] for kind in (cl.steps, cl.spans, cl.gradients))
    for stream in cl.all if not interrupted else ():
        stream.synchronize()
    at = list(itertools.accumulate(itertools.starmap(d.between, itertools.pairwise(cl.steps)), initial=0.0))

    def when(mark):
        # The time counts from the last step before the mark, because HIP's float of milliseconds has only seven digits.
        k = max((i for i, m in enumerate(cl.steps) if d.between(m, mark) >= 0), default=0)
        return at[k] + d.between(cl.steps[k], mark)

    spans = [(name, start := when(begin), start + d.between(begin, end), what) for name, begin, end, what in cl.spans]
    path = os.environ.get("ZBENCH_TORCH_TRACE")
    if path:
        write_trace(path if cl.rank == 0 else "{0}.rank{2}{1}".format(*os.path.splitext(path), cl.rank), cl, at, spans, [(begin and when(begin), shape, dtype, when(end), when(after or end)) for begin, shape, dtype, end, after in cl.gradients])
    sums = summed_up(cl, at, spans)
    lacks = undone(cl, sums)
    if cl.rank == 0:
        print(NO_RESULT + lacks if lacks else summary(cl, sums, spans), file=sys.stderr)
        if "ZBENCH_TORCH_TIMES" in os.environ and sums["steps"]:
            print(sources(cl), file=sys.stderr)
        if "ZBENCH_TORCH_RESULT" in os.environ:
            with open(os.environ["ZBENCH_TORCH_RESULT"], "w") as f:
                json.dump(sums, f)
    if lacks and not interrupted and cl.rank == 0:
        end_process(NOTHING)
    if interrupted and len(cl.real) > 1:
        end_process(130)  # at once: gloo's process groups would wait for the other ranks


NOTHING, NO_RESULT = 6, "zbench loopback: NO RESULT: "  # other commands of zbench use the same exit code


def no_result(why):
    """Ends a program that can have no result on this cluster."""
    print(NO_RESULT + why, file=sys.stderr)
    end_process(NOTHING)


def undone(cl, sums):
    """Returns why the run has no result and what to do, or None if it has one."""
    calls = sum(what is not None for *_, what in cl.spans)
    if not families.made:
        return ("the program ran on one process without torch.distributed. Start it as torchrun would, in the mode in which it calls init_process_group: "
                f"RANK, LOCAL_RANK, WORLD_SIZE={cl.ranks}, MASTER_ADDR and MASTER_PORT are set")
    if calls == 0:
        return "the program made a process group and called no collective. Wrap the model in DistributedDataParallel or fully_shard, or choose the option that does"
    if cl.trains and not sums["steps"]:
        return f"the program made an optimizer that made no step; {calls:,} collectives were set-up. Give it data for some steps"
    if sums["steps"] and not sums["called"]:
        return f"none of the last {len(settled(sums['steps']))} steps called a collective; {calls:,} were set-up. Train the wrapped model, not the one inside it"
    return None


def end_process(code):
    """Ends the process at once, after its output is written. It kills the data loaders' processes, which would
    otherwise wait for work for ever."""
    for child in multiprocessing.active_children():
        child.kill()
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def settled(steps):
    """Returns the steps without the first two, or the last step if there are no more. In DistributedDataParallel the
    first step has one bucket, and the second copies the new buckets' indices."""
    return steps[2:] or steps[-1:]


def summed_up(cl, at, spans):
    """Returns the summary of the steps, in seconds and bytes."""
    steps = list(zip(at, at[1:]))
    kept = settled(steps)
    if not kept:
        return {"steps": []}
    took, computed, calls = [], [], []
    for begin, end in kept:
        inside = [s for s in spans if begin <= s[1] < end]
        took.append(end - begin)
        computed.append(sum(e - b for name, b, e, what in inside if what is None))
        calls.append([what[1] * what[2].itemsize for name, b, e, what in inside if what is not None])
    step, busy = statistics.median(took), statistics.median(computed)
    return {"step": step, "mean": statistics.fmean(took), "computation": busy, "exposed": max(0.0, step - busy), "steps": took, "collectives": len(calls[-1]), "called": sum(map(len, calls)), "largest": max(calls[-1], default=0), "bucket": cl.bucket}


def summary(cl, sums, spans):
    """Returns the line that rank 0 prints at the end."""
    if not sums["steps"]:
        took = [e - b for _, b, e, what in spans if what is not None]
        return f"SIMULATED on {cl.ranks} ranks: {len(took):,} collectives, {sum(took) * 1e3:.2f} ms; no optimizer made a step, so there is none to time"
    return (f"SIMULATED on {cl.ranks} ranks: {sums['step'] * 1e3:.2f} ms a step (median of {len(sums['steps'])}), computation {sums['computation'] * 1e3:.2f} ms, "
            f"exposed {sums['exposed'] * 1e3:.2f} ms ({sums['exposed'] / sums['step']:.1%}); {sums['collectives']} collectives a step, a rank's part up to {sums['largest'] / 2**20:.1f} MiB")


def sources(cl):
    """Returns a line about how much of the computation has its times from the profile. The line names the largest
    operators without such times."""
    steps = settled(cl.charged[:-1])
    calls, seconds, others = [0, 0], [0.0, 0.0], collections.Counter()
    for step in steps:
        for (name, profiled), (n, s) in step.items():
            calls[profiled] += n
            seconds[profiled] += s
            others[name] += 0 if profiled else s
    total = sum(seconds) or 1.0
    text = f"Of {sum(calls) // len(steps):,} operators a step {calls[True] // len(steps):,} are in the profile, {seconds[True] / total:.1%} of the computation"
    left = [f"{name} ({s / total:.1%})" for name, s in others.most_common(3) if s > 0]
    return text + ("; the largest others: " + ", ".join(left) if left else "")


# The names of element types in a trace of PyTorch.
NAMES = {torch.bfloat16: "BFloat16", torch.float16: "Half", torch.float32: "Float", torch.float64: "Double", torch.int64: "Long", torch.int32: "Int", torch.int8: "Char", torch.uint8: "Byte"}


def write_trace(path, cl, at, spans, gradients):
    """Writes a rank's timeline in the form of PyTorch's profiler. The program's own time on the host is not modelled, so
    a kernel is launched when it begins, and autograd gives a parameter its gradient when the gradient is ready."""
    events = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 0, "tid": 0, "ts": b * 1e6, "dur": (e - b) * 1e6} for i, (b, e) in enumerate(zip(at, at[1:]))]
    for i, (name, b, e, what) in enumerate(spans):
        event = {"ph": "X", "cat": "kernel", "name": "computation", "pid": 0, "tid": name, "ts": b * 1e6, "dur": (e - b) * 1e6, "args": {"device": 0, "stream": name, "correlation": i + 1}}
        if what is not None:
            group, n, dtype, *unequal = what
            kind, grows_in, grows_out = KINETO[name]
            event.update(name="ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", tid=group.family.stream.number)
            event["args"].update({"stream": group.family.stream.number, "Collective name": kind, "In msg nelems": n * (group.n if grows_in else 1), "Out msg nelems": n * (group.n if grows_out else 1),
                                  "dtype": NAMES.get(dtype, str(dtype)),
                                  "Group size": group.n, "Process Group Name": group.title, "Process Group Description": "default_pg" if group.n == cl.ranks else "undefined", "Process Group Ranks": str(group.ranks)})
            if unequal:
                event["args"].update({"Out msg nelems": unequal[0], "In split size": str(unequal[1]), "Out split size": str(unequal[2])})
        else:
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 1, "tid": "autograd", "ts": b * 1e6, "dur": 0, "args": {"correlation": i + 1}})
        events.append(event)
    made = 0.0
    for begin, shape, dtype, end, after in gradients:
        made = made if begin is None else begin
        # The event ends 1 ns before the next launch: if both had the same time, rounding could change their order.
        events.append({"ph": "X", "cat": "cpu_op", "name": "autograd::engine::evaluate_function", "pid": 1, "tid": "autograd", "ts": made * 1e6, "dur": max(0, (after - made) * 1e6 - 1e-3)})
        events.append({"ph": "X", "cat": "cpu_op", "name": "torch::autograd::AccumulateGrad", "pid": 1, "tid": "autograd", "ts": end * 1e6, "dur": 0,
                       "args": {"Input Dims": [list(shape)], "Input type": ["c10::" + NAMES[dtype] if dtype in (torch.bfloat16, torch.float16) else NAMES.get(dtype, str(dtype)).lower()]}})
        made = after
    with open(path, "w") as f:
        json.dump({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "SIMULATED " + os.environ.get("ZBENCH_TORCH_GPU", "")}],
                   "distributedInfo": {"backend": "nccl", "rank": cl.rank, "world_size": cl.ranks}, "traceEvents": sorted(events, key=lambda e: e["ts"])}, f)


def refuse_launched(*_, **__):
    raise Refused("another process of Python with torch started this one. Leave the launcher out: zbench loopback --torch -- python3 PROGRAM, which gets RANK and WORLD_SIZE from zbench")


def refuse_replicas(*_, **__):
    no_result("torch.nn.DataParallel drives the GPUs of one node from one process, without torch.distributed. Wrap the model in DistributedDataParallel")


class Store(dist.HashStore):
    """Replaces TCPStore while rank 0 is the only process. For a key with another rank's number it returns the entry that
    this rank has set with its own number."""

    def __init__(self, *_, **__):
        super().__init__()

    def own(self, key):
        for name in (key, re.sub(r"\d+(?=\D*$)", str(cluster().rank), key)):
            if self.check([name]):
                return name
        raise Refused(f"the store has no {key}, which another rank sets: the other ranks are no processes. Name all ranks in --real")

    def get(self, key):
        return super().get(self.own(key))

    def wait(self, keys, *_):
        for key in keys:
            self.own(key)


def install():
    """Replaces the parts of PyTorch that use GPUs or other ranks."""
    if os.environ.setdefault("ZBENCH_TORCH_PROCESS", str(os.getpid())) != str(os.getpid()):
        dist.init_process_group = refuse_launched
        return
    made = []

    def make(options, _):
        made.append(Group(options.group_rank, list(options.global_ranks_in_group) or list(range(options.group_size)), options.group_id))
        return made[-1]

    dist.Backend.register_backend("zbench", make, extended_api=True, devices=["cpu"])
    begin, group_of = dist.init_process_group, dist.distributed_c10d._new_group_with_tag

    def init_process_group(backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, store=None, group_name="", pg_options=None, device_id=None):
        cl = cluster()
        if world_size not in (-1, cl.ranks) or rank not in (-1, cl.rank):
            no_result(f"the program makes a world of {world_size} ranks and is rank {rank} there; this process is rank {cl.rank} of {cl.ranks}. Set the world with --nodes and --gpus-per-node")
        cl.timeout = timeout or TIMEOUT
        begin("zbench", world_size=cl.ranks, rank=cl.rank, store=dist.HashStore(), timeout=cl.timeout)
        families.add(list(range(cl.ranks)), made[-1])

    def new_group(ranks=None, timeout=None, backend=None, backend_options=None, *args, **kwargs):
        known = len(made)
        out = group_of(ranks, timeout, None, None, *args, **kwargs)
        families.add(sorted(ranks) if ranks is not None else list(range(cluster().ranks)), made[-1] if len(made) > known else None)
        return out

    from torch.distributed import device_mesh  # this module has its own name for init_process_group
    dist.init_process_group = dist.distributed_c10d.init_process_group = device_mesh.init_process_group = init_process_group
    dist.distributed_c10d._new_group_with_tag = new_group
    from torch.nn.parallel import DistributedDataParallel
    made_of, other = DistributedDataParallel.__init__, os.environ.get("ZBENCH_TORCH_BUCKET")

    @functools.wraps(made_of)
    def init(self, *args, **kwargs):
        if other is not None:
            kwargs["bucket_cap_mb"] = int(other) / 2**20
        made_of(self, *args, **kwargs)
        cluster().bucket = self.bucket_bytes_cap
        for p in self.module.parameters() if cluster().traced else ():
            if p.requires_grad:
                p.register_post_accumulate_grad_hook(lambda p: cluster().handed(p))
                self.zbench_nodes = [*getattr(self, "zbench_nodes", ()), p.expand_as(p).grad_fn.next_functions[0][0]]
                self.zbench_nodes[-1].register_hook(lambda *_: cluster().reduced())  # this hook runs after the reducer's own

    DistributedDataParallel.__init__ = init
    differentiate = torch.autograd.backward

    def backward(*args, **kwargs):
        if cluster().traced:
            cluster().default.flush()
            cluster().backward = cluster().devices.mark(cluster().default.row[0])
        differentiate(*args, **kwargs)
        # At the end of a backward pass the C++ reducer waits for its collectives. That wait does not call wait() here.
        for done in list(cluster().written.values()) if cluster().bucket else ():
            done.wait()

    torch.autograd.backward = backward
    torch.cpu.Stream, torch.cpu.Event, torch.cpu.stream = Stream, Event, Within
    torch.cpu.current_stream = lambda device=None: cluster().current
    torch.cpu.synchronize = lambda device=None: cluster().current.synchronize()
    if cluster().real == [0]:
        dist.TCPStore = Store
    if cluster().sizes:  # PyTorch 2.14 draws until all elements are within the bounds, but here none is computed
        torch.nn.init._no_grad_trunc_normal_ = lambda tensor, mean, std, *_, **__: torch.nn.init.normal_(tensor, mean, std)
    torch.multiprocessing.spawn, torch.nn.DataParallel.__init__ = spawn, refuse_replicas  # the class stays, because programs use isinstance(model, DataParallel)
    watch_optimizers()
    watch_end()
    cluster()
    # modes keeps a reference to each mode. Without it, PyTorch 2.6 frees the mode, and printing a tensor would crash.
    cluster().modes.append(Costs())  # before zbench_cuda: the constructor imports parts of PyTorch that need the originals
    import zbench_cuda
    cluster().modes.append(zbench_cuda.install())
    for mode in cluster().modes:
        mode.__enter__()


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Replaces torch.multiprocessing.spawn: calls the function in this process, which is already the process of a rank."""
    node = int(os.environ["LOCAL_WORLD_SIZE"])
    if nprocs not in (1, node):
        no_result(f"torch.multiprocessing.spawn of {nprocs} processes: a node has {node} GPUs. Set --gpus-per-node")
    fn(int(os.environ["LOCAL_RANK"]), *args)
    return None if join else types.SimpleNamespace(join=lambda *_, **__: True)


def watch_optimizers():
    """Calls Cluster.step after each step of an optimizer."""
    from torch.optim.optimizer import register_optimizer_step_post_hook
    register_optimizer_step_post_hook(lambda optimizer, *_: cluster().step(optimizer))
    made = torch.optim.Optimizer.__init__

    def init(self, *args, **kwargs):
        cluster().trains = True
        made(self, *args, **kwargs)

    torch.optim.Optimizer.__init__ = init


def watch_end():
    """Calls finish at the end of the program. A program that exits with an error has no summary, and a forked process,
    such as a data loader, has no GPUs."""
    left = sys.exit

    def leaves(status=None, /):
        cluster().failed |= bool(status)
        left(status)

    def forked():
        cluster().inside = cluster().failed = True
        if cluster().passes is not None:
            ctypes.CDLL(None).zbench_clock_use(None, None)

    sys.exit = leaves
    os.register_at_fork(after_in_child=forked)
    atexit.register(finish)
