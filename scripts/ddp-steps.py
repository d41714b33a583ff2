"""One rank of scripts/ddp-steps.sh: PyTorch's DistributedDataParallel over gloo.

    ddp-steps.py RANK RANKS RATE curve|steps|params|log CASE…

RATE is a link's rate in bytes per second. `curve` prints bytes and seconds of all_reduce, one line per
size. `steps` prints for each case a line with its name and a JSON document. `params` prints the tensors
of a case, and `log` the curve, both in the form that `zbench recommend` reads. A backward pass sleeps
instead of computing, so two cores suffice for eight ranks.
"""
import gc, json, os, sys, time, statistics as st

import torch, torch.distributed as dist
from torch.distributed import distributed_c10d as c10d
from torch.nn.parallel import DistributedDataParallel as DDP

RANK, RANKS, RATE = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
USUAL = dict(model="even", scale="1", backward="1", caps="0.25,0.5,1,2,4,8", threads="2", view="1", accumulate="1", unused="0", reps="5", recommended="")


def case(text):
    name, *words = text.split()
    return dict(USUAL, name=name, **dict(w.split("=", 1) for w in words))


# A model is a list of (name, elements, work). work is a tensor's relative share of the backward
# pass; None means its number of elements. A name that occurs twice is a tied weight.


def even():
    thousands = [260, 500, 120, 770, 770, 260, 120, 120, 120, 770, 500, 120, 260, 500, 500, 260, 120, 500, 260, 120, 500, 500, 260, 260, 500, 500, 500, 120, 500, 770, 260, 260]
    return [(f"layers.{i}.weight", k * 1000, None) for i, k in enumerate(thousands)]


def llama(h=256, layers=8, ffn=704, kv=64, vocab=8192):
    parts = ("input_layernorm", h), ("self_attn.q_proj", h * h), ("self_attn.k_proj", kv * h), ("self_attn.v_proj", kv * h), ("self_attn.o_proj", h * h)
    parts += ("post_attention_layernorm", h), ("mlp.gate_proj", ffn * h), ("mlp.up_proj", ffn * h), ("mlp.down_proj", ffn * h)
    blocks = [(f"model.layers.{i}.{n}.weight", k, None) for i in range(layers) for n, k in parts]
    return [("model.embed_tokens.weight", vocab * h, 0), *blocks, ("model.norm.weight", h, None), ("lm_head.weight", vocab * h, None)]


def gpt(h=320, layers=8, vocab=5000):
    """The output layer shares the embedding's weight, whose gradient is ready last."""
    parts = ("ln_1", h), ("attn.c_attn", 3 * h * h), ("attn.c_proj", h * h), ("ln_2", h), ("mlp.c_fc", 4 * h * h), ("mlp.c_proj", 4 * h * h)
    blocks = [(f"transformer.h.{i}.{n}.weight", k, None) for i in range(layers) for n, k in parts]
    wte = "transformer.wte.weight"
    return [(wte, vocab * h, 0), ("transformer.wpe.weight", 256 * h, 0), *blocks, ("transformer.ln_f.weight", h, None), (wte, vocab * h, vocab * h)]


def resnet(w=40):
    """Convolutions in four stages. Each stage has four times the parameters of the previous stage, and the same
    work."""
    all = [("conv1.weight", 147 * w, 2.0)]
    for s in range(4):
        c = w << s
        for b in range(3):
            all += [(f"layer{s + 1}.{b}.conv1.weight", 4 * c * c, 0.5), (f"layer{s + 1}.{b}.bn1.weight", c, 0), (f"layer{s + 1}.{b}.conv2.weight", 9 * c * c, 1.1), (f"layer{s + 1}.{b}.conv3.weight", 4 * c * c, 0.5)]
    return [*all, ("fc.weight", 1000 * 8 * w, 0.3)]


def uneven():
    """Blocks of different sizes between an embedding and the output layer that shares its weight. Some tensors of
    each block are frozen."""
    blocks = []
    for i, h in enumerate((96, 160, 256, 128, 352, 192, 320, 224, 288, 112)):
        parts = ("norm", h, True), ("attn.qkv", 3 * h * h, True), ("attn.adapter", 2 * h * h, False), ("mlp.up", 4 * h * h, True), ("mlp.down", 4 * h * h, i % 3 != 1)
        blocks += [(f"layers.{i}.{n}.weight" + ("" if trained else FROZEN), k, None) for n, k, trained in parts]
    return [("embed.weight", 900000, 0), *blocks, ("norm.weight", 112, None), ("embed.weight", 900000, 900000)]


FROZEN = " (frozen)"  # ends the name of a tensor that is not trained; the backward pass computes one product for it, not two

# The model swapped has the tensors of the model even in another order: of each eight tensors, the second half is
# registered before the first half.
MODELS = dict(even=even, uneven=uneven, llama=llama, gpt=gpt, resnet=resnet, swapped=even)


def tensors(c):
    """Returns the tensors in the order of forward, with the seconds of each in backward."""
    listed = [(n, max(1, round(k * float(c["scale"]))), (k if w is None else w) / (2 if n.endswith(FROZEN) else 1)) for n, k, w in MODELS[c["model"]]()]
    total = sum(w for _, _, w in listed)
    return [(n, k, w / total * float(c["backward"])) for n, k, w in listed]


def registered(c):
    """Returns the order of the tensors in named_parameters, as positions in the order of forward."""
    n = len(MODELS[c["model"]]())
    if c["model"] != "swapped":
        return [*range(n)]
    return [j for i in range(0, n, 8) for j in [*range(i + 4, min(i + 8, n)), *range(i, i + 4)]]


class Leaf(torch.autograd.Function):
    """The computation of one tensor."""

    @staticmethod
    def forward(ctx, x, weight, grad, seconds):
        ctx.grad, ctx.seconds = grad, seconds
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        if ctx.seconds:
            time.sleep(ctx.seconds)
        return g, ctx.grad, None, None


class Model(torch.nn.Module):
    def __init__(self, c):
        super().__init__()
        self.steps, weights = [], {}
        for name, n, seconds in tensors(c):
            if name not in weights:
                weights[name] = torch.nn.Parameter(torch.zeros(n), requires_grad=not name.endswith(FROZEN))
            self.steps.append((weights[name], torch.ones(n) if weights[name].requires_grad else None, seconds))
        self.weights = torch.nn.ParameterList([self.steps[i][0] for i in registered(c)])

    def forward(self, x):
        for step in self.steps:
            x = Leaf.apply(x, *step)
        return x


def slowest(seconds):
    t = torch.tensor([seconds], dtype=torch.float64)
    dist.all_reduce(t, op=dist.ReduceOp.MAX)
    return t.item()


def rounded(all):
    return [round(t, 6) for t in all]


def together():
    """Waits until the same time on all ranks, and returns that time. All ranks share the clock of this machine. After
    a barrier alone, ranks would continue at times that differ by up to the time of a message."""
    at = slowest(time.monotonic()) + 0.1
    time.sleep(max(0, at - time.monotonic()))
    return at


def curve(largest):
    dist.all_reduce(torch.ones(largest // 4))  # makes TCP's windows as wide as in training: otherwise 1 MiB took 8 % longer over links with a delay
    size = 4096
    while size < 2 * largest:
        t, ts = torch.ones(size // 4), []
        for i in range(2 + max(5, min(20, int(0.5 / (0.003 + size * 1.5 / RATE))))):
            begin = together()
            dist.all_reduce(t)
            ts.append(slowest(time.monotonic() - begin))
            t.fill_(1)
        if RANK == 0:
            print(size, *rounded(ts[2:]), flush=True)
        size *= 2


def step(model, accumulate):
    """Returns the time of forward and backward of all microbatches on the slowest rank."""
    model.zero_grad()
    begin = together()
    for i in range(accumulate):
        x = torch.ones(1, requires_grad=True)
        if i < accumulate - 1:
            with model.no_sync():
                model(x).sum().backward()
        else:
            model(x).sum().backward()
    return slowest(time.monotonic() - begin)


def alone(c):
    """Returns the seconds of forward and of backward of one microbatch without communication, on the slowest rank."""
    model, both = Model(c), []
    for _ in range(9):
        model.zero_grad()
        dist.barrier()
        begin = time.perf_counter()
        loss = model(torch.ones(1, requires_grad=True)).sum()
        middle = time.perf_counter()
        loss.backward()
        both.append((slowest(middle - begin), slowest(time.perf_counter() - middle)))
    return [round(st.median(t), 6) for t in zip(*both[2:])]


def steps(c):
    """Measures every setting in two blocks, the second in reverse order; the default is first and last."""
    caps = [None, *sorted({float(x) for x in (c["caps"] + "," + c["recommended"]).split(",") if x}), None]
    found = [dict(cap=cap, seconds=[]) for cap in caps]
    view, unused, accumulate, reps = (int(c[k]) for k in ("view", "unused", "accumulate", "reps"))
    for order in found, found[::-1]:
        for at in order:
            model = DDP(Model(c), bucket_cap_mb=at["cap"], gradient_as_bucket_view=bool(view), find_unused_parameters=bool(unused))
            # The first step has one bucket, and the second starts with the new buckets.
            block = [step(model, accumulate) for _ in range(2 + reps)][2:]
            at["seconds"].append(rounded(block))
            logged = model._get_ddp_logging_data()
            at["buckets"] = [int(b) for b in (logged.get("rebuilt_bucket_sizes") or logged["bucket_sizes"]).split(",")]
            del model
            if RANK == 0:
                print(c["name"], at["cap"], block, file=sys.stderr, flush=True)
    return found


class Gloo(c10d.ProcessGroupGloo):
    """Measures with a number of threads, each of which carries one message at a time."""

    def __init__(self, store, rank, size, timeout=None, **_):
        options = c10d.ProcessGroupGloo._Options()
        options._devices, options._threads = [c10d.ProcessGroupGloo.create_device(interface=os.environ["GLOO_SOCKET_IFNAME"])], int(CASES[0]["threads"])
        super().__init__(store, rank, size, options)


CASES = [case(text) for text in sys.argv[5:]]


def listed(c):
    """Returns the tensors in the form that zbench reads. The second use of a tied weight takes time to compute but
    has no elements. A frozen weight has no elements, because it sends nothing."""
    seen, out = set(), []
    for name, n, seconds in tensors(c):
        out.append(dict(name=name, elements=0 if name.endswith(FROZEN) else n, seconds=round(seconds, 6)) if name not in seen else dict(name=name + " again", elements=0, seconds=round(seconds, 6)))
        seen.add(name)
    return [out[i] for i in registered(c)]


def document(c):
    """Returns settings and measurements of a case. Times are in seconds, sizes in bytes, and caps in MiB; null is
    the default cap."""
    points = [line.split() for line in os.environ["CURVE"].splitlines()]
    forward, backward = alone(c)
    facts = dict(date=time.strftime("%Y-%m-%d"), machine=os.environ.get("MACHINE", ""), torch=torch.__version__, ranks=RANKS, link=RATE, delay=float(os.environ["DELAY"]) / 1e3)
    facts.update({k: int(c[k]) for k in ("threads", "accumulate")}, view=c["view"] == "1", find_unused=c["unused"] == "1")
    facts.update(model=c["model"], forward=forward, backward=backward, recommended=float(c["recommended"]) if c["recommended"] else None)
    curve = [dict(bytes=int(p[0]), seconds=[float(t) for t in p[1:]]) for p in points]
    return facts, dict(tensors=listed(c), order=registered(c), curve=curve, steps=steps(c))


def written(facts, lists):
    """Writes one item per line, so that differences are readable."""
    one = lambda x: json.dumps(x)
    body = [f"{one(k)}: {one(v)}" for k, v in facts.items()]
    body += [f"{one(k)}: {one(v)}" if isinstance(v[0], int) else f"{one(k)}: [\n  " + ",\n  ".join(map(one, v)) + "\n ]" for k, v in lists.items()]
    return "{\n " + ",\n ".join(body) + "\n}"


def main():
    if sys.argv[4] == "log":
        for rank in range(RANKS):
            print(f"#  Rank  {rank} Group  0 Pid   {rank + 1} on     host{rank} device  0 [0000:00:00] gloo")
        print("# size count type redop root time algbw busbw #wrong time algbw busbw #wrong")
        print("# (B) (elements) (us) (GB/s) (GB/s) (us) (GB/s) (GB/s)")
        for size, *seconds in (map(float, line.split()) for line in os.environ["CURVE"].splitlines()):
            t = st.median(seconds)
            side = f"{t * 1e6:.1f} {size / t / 1e9:.4f} {size / t / 1e9 * 2 * (RANKS - 1) / RANKS:.4f} 0"
            print(f"{size:.0f} {size / 4:.0f} float sum -1 {side} {side}")
        return
    if sys.argv[4] == "params":
        print(json.dumps([dict(name=t["name"], elements=t["elements"]) for t in listed(CASES[0]) if t["elements"]]))
        return
    torch.set_num_threads(1)
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))  # before gloo's threads start, so that other work disturbs less
    gc.disable()
    c10d.ProcessGroupGloo = Gloo
    dist.init_process_group("gloo", rank=RANK, world_size=RANKS)
    if sys.argv[4] == "curve":
        curve(4 * max(sum(k for _, k, _ in tensors(c)) for c in CASES))
    else:
        for c in CASES:
            facts, lists = document(c)
            if RANK == 0:
                print("==", c["name"])
                print(written(facts, lists), flush=True)
    dist.barrier()
    os._exit(0)


main()
