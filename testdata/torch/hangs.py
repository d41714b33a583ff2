"""Calls that do not fit together between the first half of the ranks and the second: nothing here knows of zbench.

    hangs.py fit|broken KIND...

fit makes all calls as they should be. broken has the second half do something else in the last call of the kind, and prints
the error where there is one.
"""
import datetime
import os
import sys
import time

import torch
import torch.distributed as dist

dist.init_process_group("nccl", timeout=datetime.timedelta(seconds=float(os.environ.get("SECONDS_TO_WAIT", "60"))))
rank, half = dist.get_rank(), dist.get_world_size() // 2
odd = sys.argv[1] == "broken" and rank >= half
x, parts = torch.ones(8), torch.ones(2 * half, 8)
pairs = [dist.new_group([r, r + half]) for r in range(half)][rank % half]
first, second = (dist.new_group(list(range(2 * half))) for _ in "ab")
partner = (rank + half) % (2 * half)


def message(sends, receives, length=8):
    if rank < half and sends:
        dist.send(x, dst=partner, group=pairs)
    if rank >= half and receives:
        dist.recv(torch.ones(length), src=partner, group=pairs)


def stops(how):
    if odd:
        how()
    dist.all_reduce(x, group=first)


def in_order():
    for group in (second, first) if odd else (first, second):
        dist.all_reduce(x, group=group)


broken = sys.argv[1] == "broken"
KINDS = {
    "collective": lambda g: dist.broadcast(x, 0, group=g) if odd else dist.all_reduce(x, group=g),
    "count": lambda g: dist.all_reduce(x[:4] if odd else x, group=g),
    "dtype": lambda g: dist.all_reduce(x.double() if odd else x, group=g),
    "operator": lambda g: dist.all_reduce(x, dist.ReduceOp.MAX if odd else dist.ReduceOp.SUM, group=g),
    "root": lambda g: dist.broadcast(x, half if odd else 0, group=g),
    "barrier": lambda g: dist.all_reduce(x, group=g) if odd else dist.barrier(group=g),
    "missing": lambda g: [dist.all_reduce(x, group=g) for _ in range(1 if odd else 2)] and dist.all_gather_into_tensor(parts, x, group=g),
    "order": lambda g: in_order(),
    "absent": lambda g: time.sleep(30) if odd else dist.all_reduce(x, group=g),
    "group": lambda g: odd or dist.all_reduce(x, group=dist.new_group(list(range(2 * half)))),
    "send": lambda g: message(True, not broken),
    "receive": lambda g: message(not broken, True),
    "length": lambda g: message(True, True, 16 if broken else 8),
    "ended": lambda g: stops(lambda: sys.exit(0)),
    "raised": lambda g: stops(lambda: 1 / 0),
}
for kind in sys.argv[2:] or KINDS:
    group = dist.new_group(list(range(2 * half)))
    try:
        KINDS[kind](group)
        torch.cuda.synchronize()
    except RuntimeError as error:
        print(f"{kind}: rank {rank}: {error}", flush=True)
print(f"rank {rank} is through", flush=True)
