"""A Llama-shaped model that DistributedDataParallel or fully_shard trains: nothing here knows of zbench.

    llama.py ddp|fsdp [LAYERS [HIDDEN [BUCKET_MB [STEPS [MICROBATCHES]]]]]

It prints the buckets that the trainer formed, and a checksum of rank 0's parameters.
"""
import contextlib
import os
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

trainer = sys.argv[1]
layers, hidden, bucket, steps, microbatches = (float(a) if "." in a else int(a) for a in (sys.argv[2:] + ["32", "4096", "25", "4", "1"][len(sys.argv) - 2:]))
heads = hidden // 128
kv, ffn, vocab, tokens = max(1, heads // 4), hidden * 7 // 2, 32 * hidden, min(hidden, 4096)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm, self.ffn_norm = nn.RMSNorm(hidden), nn.RMSNorm(hidden)
        self.q, self.k, self.v, self.o = (nn.Linear(hidden, n, bias=False) for n in (hidden, 128 * kv, 128 * kv, hidden))
        self.gate, self.up, self.down = nn.Linear(hidden, ffn, bias=False), nn.Linear(hidden, ffn, bias=False), nn.Linear(ffn, hidden, bias=False)

    def forward(self, x):
        b, t, _ = x.shape
        y = self.attention_norm(x)
        q = self.q(y).view(b, t, heads, 128).transpose(1, 2)
        k, v = (p(y).view(b, t, kv, 128).transpose(1, 2).repeat_interleave(heads // kv, 1) for p in (self.k, self.v))
        x = x + self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, hidden))
        y = self.ffn_norm(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(vocab, hidden)
        self.blocks = nn.ModuleList(Block() for _ in range(layers))
        self.norm, self.head = nn.RMSNorm(hidden), nn.Linear(hidden, vocab, bias=False)

    def forward(self, x):
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


dist.init_process_group(os.environ.get("BACKEND", "nccl"))
torch.manual_seed(1)
torch.set_default_dtype(torch.bfloat16 if hidden >= 4096 else torch.float32)
model = Llama()
if trainer == "fsdp":
    from torch.distributed._composable.fsdp import fully_shard

    for block in model.blocks:
        fully_shard(block)
    model = fully_shard(model)
else:
    model = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=bucket, gradient_as_bucket_view=os.environ.get("VIEW", "1") == "1")
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.arange(tokens).remainder(vocab).view(1, tokens)
for _ in range(steps):
    for i in range(microbatches):
        last = i == microbatches - 1
        with contextlib.nullcontext() if last or trainer == "fsdp" else model.no_sync():
            F.cross_entropy(model(x).flatten(0, 1), x.flatten()).backward()
    optimizer.step()
    optimizer.zero_grad()
if dist.get_rank() == 0:
    if trainer == "ddp":
        assert isinstance(model.reducer, dist.Reducer)
        logged = model._get_ddp_logging_data()
        print("buckets", logged.get("rebuilt_bucket_sizes") or logged["bucket_sizes"])
    mine = (getattr(p, "to_local", lambda p=p: p)() for p in (model.module if trainer == "ddp" else model).parameters())  # a rank's share with fsdp
    print("checksum %.9g" % sum(p.detach().double().abs().sum() for p in mine))
if dist.get_backend() == "gloo" and dist.get_world_size() > 1:  # whose end can hang, see schedules.py
    dist.barrier()
    sys.stdout.flush()
    os._exit(0)
dist.destroy_process_group()
