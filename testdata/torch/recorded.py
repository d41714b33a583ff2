"""Steps of DistributedDataParallel as scripts/ddp-steps.sh records them, with computation that takes the
recorded time: nothing here knows of zbench.

    recorded.py RECORDING

Of each setting of the recording it makes four steps, as a model of the same tensors: an operator stands for
the computation of a tensor, with so many floating-point operations as a device of 1e12 a second does in that time.
"""
import contextlib
import json
import os
import sys

import torch
import torch.distributed as dist
from torch.utils.flop_counter import register_flop_formula

with open(sys.argv[1]) as f:
    r = json.load(f)


@torch.library.custom_op("recorded::computed", mutates_args=())
def computed(x: torch.Tensor, seconds: float) -> torch.Tensor:
    return x.clone()


register_flop_formula(torch.ops.recorded.computed)(lambda x, seconds, **_: seconds * 1e12)
forward = r["forward"] / len(r["tensors"])
share = r["backward"] / sum(t["seconds"] for t in r["tensors"])


class Leaf(torch.autograd.Function):
    """One tensor's computation."""

    @staticmethod
    def forward(ctx, x, weight, grad, seconds):
        ctx.grad, ctx.seconds = grad, seconds
        return computed(x, forward)

    @staticmethod
    def backward(ctx, g):
        return computed(g, ctx.seconds), ctx.grad, None, None


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        known, self.tensors = {}, [r["tensors"][r["order"].index(i)] for i in range(len(r["order"]))]
        for t in self.tensors:  # a tied weight computes again where it is used again, and has no elements there
            known.setdefault(t["name"].removesuffix(" again"), None)
        for t in r["tensors"]:
            if t["elements"]:
                known[t["name"]] = torch.nn.Parameter(torch.zeros(t["elements"]))
        self.uses = [known[t["name"].removesuffix(" again")] for t in self.tensors]
        self.weights = torch.nn.ParameterList([known[t["name"]] for t in r["tensors"] if t["elements"]])
        self.grads = [torch.ones_like(w) for w in self.uses]

    def forward(self, x):
        for w, grad, t in zip(self.uses, self.grads, self.tensors):
            x = Leaf.apply(x, w, grad, share * t["seconds"])
        return x


class Idle(torch.optim.Optimizer):
    """The recorded steps end with the backward pass."""

    def step(self):
        pass


dist.init_process_group(os.environ.get("BACKEND", "nccl"))
for setting in r["steps"]:
    model = torch.nn.parallel.DistributedDataParallel(Model(), bucket_cap_mb=setting["cap"], gradient_as_bucket_view=r["view"], find_unused_parameters=r["find_unused"])
    optimizer = Idle(model.parameters(), {})
    for _ in range(4):
        model.zero_grad()
        for i in range(r["accumulate"]):
            with contextlib.nullcontext() if i == r["accumulate"] - 1 else model.no_sync():
                model(torch.ones(1, requires_grad=True)).sum().backward()
        optimizer.step()
    logged = model._get_ddp_logging_data()
    print("buckets", setting["cap"], logged.get("rebuilt_bucket_sizes") or logged["bucket_sizes"])
dist.destroy_process_group()
