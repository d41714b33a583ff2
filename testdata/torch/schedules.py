"""Schedules of communication beyond one group, and broken ones: nothing here knows of zbench.

    schedules.py mesh|pipeline|parts|absent|order|raises

mesh: sums over the rows and columns of a mesh of two by the rest. pipeline: the first half of the
ranks sends activations to the second, which sends gradients back; each half averages its gradients.
parts: an all_to_all of lists and one of unequal parts, a gather, a scatter.
absent, order, raises: the second half leaves out a call, makes two in another order, or fails.
"""
import datetime
import os
import sys

import torch
import torch.distributed as dist

dist.init_process_group(os.environ.get("BACKEND", "nccl"), timeout=datetime.timedelta(seconds=float(os.environ.get("SECONDS_TO_WAIT", "60"))))
rank, ranks = dist.get_rank(), dist.get_world_size()
half, what = ranks // 2, sys.argv[1]
second = rank >= half
weight = torch.nn.Parameter(torch.full((64, 64), 0.01 * (1 + second)))
optimizer = torch.optim.SGD([weight], lr=0.1) if what in ("mesh", "pipeline") else None


def mesh():
    from torch.distributed.device_mesh import init_device_mesh

    both = init_device_mesh("cpu", (2, half), mesh_dim_names=("outer", "inner"))
    x = torch.arange(8.0) + (10 * second)
    dist.all_reduce(x, group=both.get_group("inner"))
    y = x.clone()
    dist.all_reduce(y, group=both.get_group("outer"))
    parts = torch.empty(2, 8)
    dist.all_gather_into_tensor(parts, x, group=both.get_group("outer"))
    weight.grad = torch.zeros_like(weight)
    optimizer.step()
    return [x.sum(), y.sum(), parts[0].sum(), parts[1].sum()]


def pipeline():
    own = [dist.new_group(list(range(begin, begin + half))) for begin in (0, half)][second]
    pairs = [dist.new_group([r, r + half]) for r in range(half)][rank % half]
    for _ in range(3):
        x = torch.ones(32, 64)
        if second:
            dist.recv(x, src=rank - half, group=pairs)
            x.requires_grad_()
        y = x @ weight
        if not second:
            dist.send(y.detach(), dst=rank + half, group=pairs)
            grad = torch.empty_like(y)
            dist.recv(grad, src=rank + half, group=pairs)
            y.backward(grad)
        else:
            y.sum().backward()
            dist.send(x.grad, dst=rank - half, group=pairs)
        dist.all_reduce(weight.grad, group=own)
        weight.grad /= half
        optimizer.step()
        optimizer.zero_grad()
    return [weight.double().sum()]


def parts():
    def told(x):
        return (x * torch.arange(1.0, 1 + x.numel())).sum()

    x, lists = torch.arange(3.0 * ranks) + 100 * rank, torch.empty(3 * ranks)
    if dist.get_backend() == "gloo":  # which has no all_to_all of lists
        dist.all_to_all_single(lists, x)
    else:
        dist.all_to_all(list(lists.split(3)), list(x.split(3)))
    sizes = [[1 + r * to + (r == 1 and to == half) for to in range(ranks)] for r in range(ranks)]  # rank 0's are equal
    sent, received = sizes[rank], [sizes[r][rank] for r in range(ranks)]
    unequal = torch.empty(sum(received), 2)
    dist.all_to_all_single(unequal, torch.arange(2.0 * sum(sent)).view(-1, 2) + 100 * rank, received, sent)
    gathered = [torch.zeros(3) for _ in range(ranks)]
    dist.gather(x[:3].clone(), gathered if rank == half else None, dst=half)
    part = torch.empty(3)
    dist.scatter(part, list(x.split(3)) if second and rank == half else None, src=half)
    return [told(lists), told(unequal.flatten()), told(torch.cat(gathered)), told(part)]


def broken():
    a, b = torch.ones(1000), torch.ones(2000)
    dist.all_reduce(a)
    if what == "raises" and second:
        raise RuntimeError("a node was lost")
    if what == "order" and second:
        a, b = b, a
    if what != "absent" or not second:
        dist.all_reduce(a)
    dist.all_reduce(b)
    return [a.sum(), b.sum()]


out = {"mesh": mesh, "pipeline": pipeline, "parts": parts}.get(what, broken)()
if rank in (0, half):
    sys.stdout.write(f"rank {rank}: " + " ".join(f"{float(x):.9g}" for x in out) + "\n")
dist.barrier()
if dist.get_backend() == "gloo":
    # ProcessGroupGloo of PyTorch 2.6 holds the interpreter's lock at its end while it waits for a thread that may want
    # the lock to free a tensor.
    sys.stdout.flush()
    os._exit(0)
dist.destroy_process_group()
