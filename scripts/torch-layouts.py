#!/usr/bin/env python3
"""Runs PyTorch's own DDP and FSDP2, and writes the sizes and times of their calls as JSON.

    debootstrap trixie CHROOT && chroot CHROOT apt-get install -y python3-torch   # as root, once
    chroot CHROOT python3 -W ignore - <scripts/torch-layouts.py >bench/answers/advice/testdata/torch-layouts.json

It needs PyTorch 2.6 or later, but neither a GPU nor a network. Words after the dash select parts. The part
"ddp_lists" (one cap per bucket) needs PyTorch 2.14; its output is torch-lists.json.

DDP runs unchanged, with a process group that records the reducer's calls. FSDP2 runs with fake tensors, and with
streams that record which calls they wait for, because torch.cpu has no streams. A tensor is
[block, frozen, sides…], in forward order.
"""
import contextlib, hashlib, json, os, random, sys

os.environ.update(USE_LIBUV="0", MASTER_ADDR="127.0.0.1", MASTER_PORT="29512")
import itertools, torch, torch.distributed as dist
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.testing._internal.distributed.fake_pg import FakeStore


class Leaf(torch.autograd.Function):
    """The computation of one tensor. It sets MAIN.at, the position in the forward and backward pass."""

    @staticmethod
    def forward(ctx, x, w, i):
        ctx.i, ctx.w = i, w
        MAIN.at = i + 1
        return x.clone() if w is None else x + w.flatten()[0] * 0

    @staticmethod
    def backward(ctx, g):
        MAIN.at = 2 * SIZE[0] - ctx.i
        needs = ctx.w is not None and ctx.needs_input_grad[1]
        return g, torch.zeros_like(ctx.w) if needs else None, None


SIZE = [0]  # the number of leaves


class Tensor(nn.Module):
    def __init__(self, i, sides, frozen, shared=None):
        super().__init__()
        self.i = i
        if shared is not None:
            self.weight = shared
        elif sides:
            self.weight = nn.Parameter(torch.empty(sides), requires_grad=not frozen)

    def forward(self, x):
        return Leaf.apply(x, self.weight, self.i)


class Block(nn.Module):
    def __init__(self, leaves):
        super().__init__()
        self.leaves = nn.ModuleList(leaves)

    def forward(self, x):
        for m in self.leaves:
            x = m(x)
        return x


class Model(nn.Module):
    """Returns the tensors before the blocks, the blocks, and the tensors after them, possibly with a head that shares
    the first tensor's weight."""

    def __init__(self, tensors, tied):
        super().__init__()
        self.before, self.layers, self.after, inside = nn.ModuleList(), nn.ModuleList(), nn.ModuleList(), False
        at = 0
        for block, run in itertools.groupby(tensors, lambda t: t[0]):
            leaves = []
            for _, frozen, *sides in run:
                leaves.append(Tensor(at, sides, frozen))
                at += 1
            if block:
                self.layers.append(Block(leaves))
                inside = True
            else:
                (self.after if inside else self.before).extend(leaves)
        if tied:
            self.after.append(Tensor(at, None, False, self.before[0].weight))
            at += 1
        SIZE[0] = at

    def forward(self, x):
        for m in [*self.before, *self.layers, *self.after]:
            x = m(x)
        return x


def run(model):
    """Returns the loss. The input needs a gradient, unless it goes to an embedding."""
    return model(torch.zeros(1, requires_grad=not [*getattr(model, "module", model).before])).sum()


# DDP


class Written(dist.ProcessGroup):
    """A process group that records calls. It has one rank, but DDP treats it as a group of two."""

    def __init__(self):
        super().__init__(0, 1)
        self.calls = []

    def allreduce(self, tensors, opts=None):
        self.calls.append([sum(t.numel() * t.element_size() for t in tensors), 2 * SIZE[0] - max(MAIN.at, SIZE[0])])
        return done(tensors)

    def broadcast(self, tensors, opts=None):
        return done(tensors)

    def allgather(self, outputs, inputs, opts=None):
        for out, one in zip(outputs, inputs):
            for o in out:
                o.copy_(one)
        return done(outputs)

    def getBackendName(self):
        return "written"


def done(result):
    future = torch.futures.Future()
    future.set_result(result)
    return torch._C._distributed_c10d._create_work_from_future(future)


def ddp(case):
    model = Model(case["tensors"], case["tied"]).to(getattr(torch, case["dtype"]))
    group = Written()
    flags = dict(find_unused_parameters=case["find_unused"], static_graph=case["static_graph"])
    flags.update(bucket_cap_mb_list=case["caps"]) if "caps" in case else flags.update(bucket_cap_mb=case["cap"])
    wrapped = nn.parallel.DistributedDataParallel(model, process_group=group, **flags)
    for _ in range(3):  # the first step has one bucket; DDP rebuilds the buckets after it
        group.calls.clear()
        MAIN.at = 0
        run(wrapped).backward()
    logged = wrapped._get_ddp_logging_data()
    sizes = logged.get("rebuilt_bucket_sizes") or logged["bucket_sizes"]
    return dict(calls=group.calls, logged=[int(s) for s in sizes.split(",")])


# FSDP2


class Stream:
    """A stream, with what is true when its next operation can begin: self.at is the leaf that the main stream has
    reached by then, and self.over has the calls that have ended by then."""

    all = []

    def __init__(self, *_, **__):
        self.at, self.over = 0, set()
        Stream.all.append(self)

    def join(self, other):
        self.at = max(self.at, other.at)
        if self is MAIN:
            for c in other.over - self.over:
                CALLS[c][3] = self.at
        self.over |= other.over

    wait_event = wait_stream = join

    def record_event(self, event=None):
        event = event or Event()
        event.record(self)
        return event


class Event:
    def __init__(self, *_, **__):
        self.at, self.over = 0, set()

    def record(self, stream=None):
        stream = stream or STACK[-1]
        self.at, self.over = stream.at, set(stream.over)

    def wait(self, stream=None):
        (stream or STACK[-1]).join(self)


MAIN = Stream()
STACK, CALLS = [MAIN], []


@contextlib.contextmanager
def on(stream):
    STACK.append(stream)
    yield
    STACK.pop()


def called(name, size):
    def call(*args, **kwargs):
        tensor = kwargs.get(size, args[0] if args else None)
        at = STACK[-1]
        CALLS.append([name, tensor.numel() * tensor.element_size(), at.at, None])
        at.over.add(len(CALLS) - 1)

    return call


def shim():
    torch.cpu.Stream, torch.cpu.Event, torch.cpu.stream = Stream, Event, on
    for device in torch.cpu, torch.cuda, getattr(torch, "accelerator", torch.cpu):
        device.current_stream = lambda *_: STACK[-1]
    for name in "all_gather_into_tensor", "all_gather_single":
        setattr(dist, name, called("all_gather", "output_tensor"))
    for name in "reduce_scatter_tensor", "reduce_scatter_single":
        setattr(dist, name, called("reduce_scatter", "input"))


def shard(model, case, mesh):
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    sharded = dict(mesh=mesh, mp_policy=MixedPrecisionPolicy(param_dtype=getattr(torch, case["param"]), reduce_dtype=getattr(torch, case["reduce"])))
    free = not case["keep"]
    if model.before and not case["root"]:
        fully_shard([*model.before], reshard_after_forward=free, **sharded)
    blocks, n = [*model.layers], case["blocks"]
    for i in range(0, len(blocks), n):
        fully_shard(blocks[i : i + n], reshard_after_forward=free, **sharded)
    if model.after and not case["root"]:
        fully_shard([*model.after], reshard_after_forward=False, **sharded)
    fully_shard(model, **sharded)


def fsdp2(case):
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=case["dp"])
    mesh = dist.device_mesh.init_device_mesh("cpu", (case["dp"],))
    with FakeTensorMode():
        model = Model(case["tensors"], case["tied"])
        shard(model, case, mesh)
        for _ in range(2):
            CALLS.clear()
            for s in Stream.all:
                s.at, s.over = 0, set()
            loss = run(model)
            forward, MAIN.at = len(CALLS), SIZE[0]
            loss.backward()
    dist.destroy_process_group()
    n = SIZE[0]
    for i, c in enumerate(CALLS):
        if i >= forward:
            c[2], c[3] = 2 * n - max(n, c[2]), 2 * n - c[3]
    return dict(forward=CALLS[:forward], backward=CALLS[forward:])


# Cases


def frozen(rng, how, last):
    """Returns 1 if a tensor is frozen. "lora" freezes all tensors of a block except the last, "some" freezes 40 % of
    the tensors at random."""
    return int(how == "lora" and not last or how == "some" and rng.random() < 0.4)


def tensors(rng, how, big=1):
    """Returns a model of a few blocks, possibly with tensors before and after them."""
    some = lambda: [rng.randint(1, 40) * big for _ in range(rng.choice([1, 2, 2, 3] if big == 1 else [1, 2]))]
    before, after = rng.randint(0, 2), rng.randint(0, 2)
    blocks = rng.randint(1, 7)
    all = [[0, frozen(rng, how if i else how.replace("some", ""), False), *some()] for i in range(before)]
    for b in range(blocks):
        n = rng.randint(1, 4)
        all += [[b + 1, frozen(rng, how, i == n - 1), *some()] for i in range(n)]
    all += [[0, frozen(rng, how, False), *some()] for i in range(after)]
    if all[0][0]:
        all[0][1] = 0  # autograd computes nothing before the first tensor that needs a gradient
    return all, before > 0 and not all[0][1] and rng.random() < 0.3


def ddp_cases(rng):
    for i in range(140):
        how = rng.choice(["", "", "lora", "some"])
        listed, tied = tensors(rng, how, 30 if i % 20 == 0 else 1)
        case = dict(dtype=rng.choice(["float32", "bfloat16"]), tied=tied, find_unused=rng.random() < 0.5, static_graph=rng.random() < 0.2)
        case["cap"] = rng.choice([round(rng.uniform(2e-5, 2e-2), 6), round(rng.uniform(2e-3, 2e-1), 4), None, 2.5]) if i % 20 == 0 else round(10 ** rng.uniform(-5, -2), 6)
        if sum(1 for t in listed if not t[1]):
            yield dict(case, tensors=listed)


def ddp_lists(rng):
    for case in itertools.islice(ddp_cases(rng), 60):
        case.pop("cap")
        yield dict(case, caps=[round(10 ** rng.uniform(-5, -2), 6) for _ in range(rng.randint(1, 4))])


def fsdp2_cases(rng):
    for _ in range(140):
        listed, tied = tensors(rng, rng.choice(["", "", "lora", "some"]))
        yield dict(
            dp=rng.choice([2, 3, 4, 7, 8, 24, 64, 512, 1000]), blocks=rng.randint(1, 4), keep=rng.random() < 0.3, root=tied or rng.random() < 0.3,
            param=rng.choice(["bfloat16", "float32"]), reduce=rng.choice(["bfloat16", "float32"]), tied=tied, tensors=listed,
        )


# Models as lists of tensors by block, with the shapes that Hugging Face's implementations have.
def llama(hidden, layers, ffn, kv, vocab):
    block = [[hidden], [hidden, hidden], [kv, hidden], [kv, hidden], [hidden, hidden], [hidden], [ffn, hidden], [ffn, hidden], [hidden, ffn]]
    return [[0, 0, vocab, hidden], *([b + 1, 0, *s] for b in range(layers) for s in block), [0, 0, hidden], [0, 0, vocab, hidden]]


def digest(calls):
    return hashlib.sha256(json.dumps(calls, separators=(",", ":")).encode()).hexdigest()[:16]


def models():
    listed = llama(4096, 32, 14336, 1024, 128256)
    for dp, blocks in (64, 1), (1000, 1), (1024, 4), (768, 18):
        case = dict(dp=dp, blocks=blocks, keep=False, root=False, param="bfloat16", reduce="float32", tied=False)
        yield dict(model="llama3-8b", **case), fsdp2(dict(case, tensors=listed))


def main():
    shim()
    parts = dict(
        ddp=lambda: [dict(c, **ddp(c)) for c in ddp_cases(random.Random(1))],
        ddp_lists=lambda: [dict(c, **ddp(c)) for c in ddp_lists(random.Random(3))],
        fsdp2=lambda: [dict(c, **fsdp2(c)) for c in fsdp2_cases(random.Random(2))],
        models=lambda: [dict(c, **{k: digest(v) for k, v in r.items()}) for c, r in models()],
    )
    out = {k: parts[k]() for k in sys.argv[1:] or ["ddp", "fsdp2", "models"]}
    lines = lambda cases: "[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]"
    source = f"PyTorch {torch.__version__}, run by scripts/torch-layouts.py"
    print("{" + f'"source":{json.dumps(source)}' + "".join(f',"{k}":{lines(v)}' for k, v in out.items()) + "}")


main()
