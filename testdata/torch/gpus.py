"""A trainer for GPUs, as others write them: nothing here knows of zbench.

    gpus.py train|alone|silent|unwrapped|unstepped|replicas|spawn|endless|mesh|missing|bench|functional

train: DistributedDataParallel with float16 and a scaler of the loss; it prints what a step takes by its own clock.
alone, silent, unwrapped, unstepped: it makes no process group, no collective, none in a step, no step.
spawn, endless, mesh: train by torch.multiprocessing; without an end; with a mesh in the place of init_process_group.
replicas: one process for all GPUs.
missing: it asks for what no stand-in has. bench: all_reduce by events, as communication benchmarks time it. functional: tensor
parallel layers, calls of torch.distributed's functional form, and a store.
"""
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh


def train(what, steps=12):
    device = torch.device(f"cuda:{torch.cuda.current_device()}")
    model = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(8)]).to(device)
    if what not in ("alone", "silent", "unwrapped"):
        model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[device.index])
    elif what == "unwrapped":
        torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2).cuda())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    assert not isinstance(model, torch.nn.DataParallel)
    scaler = torch.amp.GradScaler("cuda")
    batch = torch.randn(2048, 2048).pin_memory().to(device, non_blocking=True)
    last, took = time.perf_counter(), []
    while what != "unstepped" and (what == "endless" or len(took) < steps):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        took.append(time.perf_counter() - last)
        last += took[-1]
        if what == "endless":
            print("a step", flush=True)
    print(f"mine: {sorted(took[2:])[len(took[2:]) // 2] * 1e3:.4f} ms a step" if took else "no step", f"of {torch.cuda.max_memory_allocated() >> 20} MiB on {torch.cuda.get_device_name()}")


def bench():
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    for size in [2**k for k in range(15, 31, 3)]:
        x, took = torch.zeros(size // 4, device=0), 0.0
        for _ in range(20):
            dist.barrier()
            begin.record()
            dist.all_reduce(x)
            end.record()
            torch.cuda.synchronize()
            took += begin.elapsed_time(end) * 1e-3 / 20
        print(f"all_reduce {size} {took:.9g}")


def functional():
    import torch.distributed._functional_collectives as calls
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    ranks, rank = dist.get_world_size(), dist.get_rank()
    mesh = init_device_mesh("cuda", (ranks,))
    x = torch.ones(ranks << 17, device="cuda")
    y = calls.all_reduce(x, "sum", mesh) + calls.all_gather_tensor(x, 0, mesh)[: len(x)]
    print(calls.reduce_scatter_tensor(y, "sum", 0, mesh).shape)
    layers = parallelize_module(torch.nn.Sequential(torch.nn.Linear(512, 1024), torch.nn.Linear(1024, 512)).cuda(), mesh, {"0": ColwiseParallel(), "1": RowwiseParallel()})
    q = torch.distributed.tensor.DTensor.from_local(torch.ones(2, 2, 64, 64, device="cuda"), mesh, [torch.distributed.tensor.Shard(1)])
    torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)
    torch.nn.init.trunc_normal_(torch.empty(ranks << 17, device="cuda"))
    layers(torch.ones(256, 512, device="cuda")).sum().backward()
    store = dist.TCPStore("127.0.0.1", 29501, ranks, rank == 0)
    store.set(f"name{rank}", "node")
    print(store.get(f"name{ranks - 1}"))


def main(rank, what):
    torch.accelerator.set_device_index(rank)
    if what == "mesh":
        init_device_mesh("cuda", (int(os.environ["WORLD_SIZE"]),))
    elif what != "alone":
        dist.init_process_group("nccl")
    if what == "missing":
        torch.cuda.memory_snapshot()
    if what == "replicas":
        torch.nn.DataParallel(torch.nn.Linear(2, 2).cuda())
    {"bench": bench, "functional": functional}.get(what, lambda: train(what))()


if __name__ == "__main__":
    if sys.argv[1] == "spawn":
        torch.multiprocessing.spawn(main, args=("spawn",), nprocs=torch.cuda.device_count())
    else:
        main(int(os.environ["LOCAL_RANK"]), sys.argv[1])
