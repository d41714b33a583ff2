#!/usr/bin/env python3
"""Record traces of PyTorch's profiler from ranks that train over gloo, one of which may be late in every step.

    scripts/torch-trace.py DIR RANKS STEPS [LATE MS]

Starts RANKS processes on this machine, with PyTorch's DistributedDataParallel over the
loopback network, and writes DIR/rank0.json, …. Rank LATE sleeps for MS milliseconds before each
backward pass. It needs python3-torch (Debian trixie has 2.6).
"""
import os
import subprocess
import sys
import time


def rank_main(out, rank, world, steps, late, ms):
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel
    from torch.profiler import ProfilerActivity, profile, record_function

    torch.set_num_threads(1)
    torch.manual_seed(1)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    layers = [torch.nn.Linear(512, 512) for _ in range(12)]
    model = DistributedDataParallel(torch.nn.Sequential(*layers), bucket_cap_mb=4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batch = torch.randn(16, 512)

    def step():
        loss = model(batch).sum()
        if rank == late:
            time.sleep(ms / 1e3)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    for _ in range(2):
        step()
    dist.barrier()
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        for i in range(steps):
            with record_function(f"ProfilerStep#{i}"):
                step()
    profiler.export_chrome_trace(os.path.join(out, f"rank{rank}.json"))
    dist.barrier()
    os._exit(0)


def main():
    out, world, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    late, ms = (int(sys.argv[4]), float(sys.argv[5])) if len(sys.argv) > 5 else (-1, 0.0)
    if "RANK" in os.environ:
        rank_main(out, int(os.environ["RANK"]), world, steps, late, ms)
    os.makedirs(out, exist_ok=True)
    base = dict(os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=os.environ.get("MASTER_PORT", "29533"), USE_LIBUV="0", OMP_NUM_THREADS="1")
    ranks = [subprocess.Popen([sys.executable, "-W", "ignore", *sys.argv], env=dict(base, RANK=str(r))) for r in range(world)]
    sys.exit(max(r.wait() for r in ranks))


main()
