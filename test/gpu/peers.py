"""Times the peers of zbench that are written in Python on one GPU: torch eager and
compiled, torch's batched products, torch's foreach functions, and Liger's Triton kernel
if that package is installed.

    peers.py norm:32768x4096 products:16x2048x2048 product:4096 gemm:4096x4096x4096 prepare:208x1024x2048

Prints lines of CSV: figure,PEER,CASE,SECONDS (a median) and missing,PEER,CASE,WHY.
The method is zbench's: batches of at least 2 ms between two events, after 0.2 s of
the same work. The GPU sleeps for about a millisecond before the first event of a batch,
so that Python's launch time is hidden. Before the timing, the results are compared with
those of float32 or of torch eager.
"""

import csv
import statistics
import sys
import time

try:
    import torch
except ImportError as problem:
    sys.exit(f"no torch: {problem}")

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
BATCH, WARM, SPEND, MOST = 2e-3, 0.2, 0.25, 1 << 14
MOMENTUM, STEPS = 0.95, 5  # the defaults of zbench's Muon


def say(*cells):
    csv.writer(sys.stdout, lineterminator="\n").writerow(cells)
    sys.stdout.flush()


def batch(work, rounds):
    """Returns the seconds of several calls, measured with the GPU's events."""
    if not CUDA:
        start = time.perf_counter()
        for _ in range(rounds):
            work()
        return time.perf_counter() - start
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda._sleep(2_000_000)  # cycles: about a millisecond
    start.record()
    for _ in range(rounds):
        work()
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) * 1e-3


def seconds(work, warm=WARM):
    """Returns the median seconds of one call, after calls for warm seconds."""
    rounds, spent = 1, 0.0
    batch(work, 1)  # not timed: the first call compiles, loads and allocates
    while True:
        took = batch(work, rounds)
        spent += took
        if took < BATCH and rounds < MOST:
            rounds = min(MOST, max(rounds + 1, int(rounds * min(16, 1.2 * BATCH / max(took, 1e-9)))))
        elif spent >= warm or took < BATCH:
            break
    samples, spent = [], 0.0
    while spent < SPEND or len(samples) < 5:
        took = batch(work, rounds)
        spent += took
        samples.append(took / rounds)
    return statistics.median(samples)


def normal(*shape, dtype=torch.bfloat16):
    return torch.randn(*shape, device=DEVICE, dtype=torch.float32).to(dtype)


def close(got, want, what, bar=2e-2):
    """Raises ValueError if a result differs from the expected one by more than bar, in relative norm."""
    for g, w in zip(got, want):
        g, w = g.float(), w.float()
        error = ((g - w).norm() / w.norm()).item()
        if not error < bar:
            raise ValueError(f"{what} is off by {error:.2g}")


def norm(case, rows, hidden):
    x, residual, weight = normal(rows, hidden), normal(rows, hidden), normal(hidden)

    def eager(x, residual, weight):
        total = x + residual
        wide = total.float()
        scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return total, (wide * scale).to(x.dtype) * weight

    want = eager(x, residual, weight)

    def compiled(**how):
        torch._dynamo.reset()
        made = torch.compile(eager, dynamic=False, **how)
        return lambda: made(x, residual, weight)

    def tuned():
        return compiled(mode="max-autotune-no-cudagraphs")

    def liger():
        sys.modules.setdefault("peft", None)  # importing peft would take seconds, and Liger does not need it here
        from liger_kernel.ops.fused_add_rms_norm import fused_add_rms_norm_forward as forward

        def run():
            y, total = forward(x, residual, weight, 1e-6, 0.0, "llama")[:2]
            return total, y

        return run

    def plain():
        return lambda: eager(x, residual, weight)

    peers = {"torch eager": plain, "torch compiled": compiled, "torch compiled, max-autotune": tuned, "Liger": liger}
    for peer, make in peers.items():
        tried(peer, case, lambda: checked(make(), want, peer))


def checked(work, want, what):
    close(work(), want, what)
    return work


def tried(peer, case, make, warm=WARM):
    """Prints the time of a peer. If the peer cannot run, prints the reason, and the other peers still run."""
    try:
        say("figure", peer, case, repr(seconds(make(), warm)))
    except Exception as problem:  # a peer may raise any exception
        text = " ".join(f"{type(problem).__name__}: {problem}".split())
        say("missing", peer, case, text[:200])


def products(case, count, rows, cols):
    """Times the products of an iteration of Newton-Schulz, without and with the sums
    that a trainer would write. m is the short side."""
    m, n = min(rows, cols), max(rows, cols)
    first = normal(count, m, n)
    first = first / (first.norm(dim=(-2, -1), keepdim=True, dtype=torch.float32) + 1e-7).to(first.dtype)
    a = torch.bmm(first, first.mT)
    coefficients = 3.4445, -4.7750, 2.0315

    def alone():
        for _ in range(STEPS):
            torch.bmm(first, first.mT)
            torch.bmm(a, a)
            torch.bmm(a, first)

    def iterate(y):
        for _ in range(STEPS):
            gram = torch.bmm(y, y.mT)
            poly = torch.baddbmm(gram, gram, gram, beta=coefficients[1], alpha=coefficients[2])
            y = torch.baddbmm(y, poly, y, beta=coefficients[0])
        return y

    def iteration():
        close([iterate(first[:1])], [iterate(first[:1].float())], "the iteration", 0.1)
        return lambda: iterate(first)

    tried("bmm", case, lambda: alone)
    tried("iteration", case, iteration)


def product(case, size):
    a = normal(size, size)
    tried("mm", case, lambda: lambda: torch.mm(a, a.mT))


def gemm(case, m, n, k):
    """Times the product of a layer's forward pass, whose layout BLAS calls TN. It warms up for a second, as `zbench gemm`
    does, because by then the power limit has lowered the clock."""
    a, b = normal(m, k), normal(n, k)
    tried("mm", case, lambda: lambda: torch.mm(a, b.mT), 1.0)


def prepare(case, count, rows, cols):
    """Times momentum, cast and norms of Muon's step over many tensors."""
    gradient, momentum = ([normal(rows, cols, dtype=torch.float32) for _ in range(count)] for _ in range(2))
    cast = [torch.empty(rows, cols, device=DEVICE, dtype=torch.bfloat16) for _ in range(count)]

    def run():
        torch._foreach_lerp_(momentum, gradient, 1 - MOMENTUM)
        torch._foreach_copy_(cast, torch._foreach_lerp(gradient, momentum, MOMENTUM))
        return torch._foreach_norm(cast)

    def foreach():
        g, m = gradient[-1].clone(), momentum[-1].clone()
        norms = run()
        m += (1 - MOMENTUM) * (g - m)
        update = g + MOMENTUM * (m - g)
        close([cast[-1], momentum[-1], norms[-1]], [update, m, update.norm()], "foreach")
        return run

    tried("foreach", case, foreach)


def main(cases):
    if CUDA:
        name, library = torch.cuda.get_device_name(), f"CUDA {torch.version.cuda or torch.version.hip}"
    else:
        name, library = "no GPU", "CPU"
    say("with", f"torch {torch.__version__}, {library}, {name}")
    for case in cases:
        kind, sizes = case.split(":")
        {"norm": norm, "products": products, "product": product, "gemm": gemm, "prepare": prepare}[kind](case, *map(int, sizes.split("x")))
        if CUDA:
            torch.cuda.empty_cache()


if __name__ == "__main__":
    with torch.no_grad():
        main(sys.argv[1:])
