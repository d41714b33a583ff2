#!/usr/bin/env python3
"""Runs the trainers' own layout code, and writes what it lays out as numbers.

    scripts/trainer-layouts.py MEGATRON_GIT > bench/advice/testdata/megatron-layouts.json

MEGATRON_GIT is a git directory of NVIDIA/Megatron-LM that has the commit below. The
functions are taken out of its files and run with stand-ins for torch: a parameter is a
number of elements. The tensors of the models are listed here, as Megatron's modules
register them on rank 0 of the first pipeline stage.
"""
import ast, enum, hashlib, json, math, subprocess, sys, types, typing
from itertools import groupby

COMMIT = "d98e8a64ddf34856e74b24714e3bedb2f5a39553"


def source(git, path):
    return subprocess.run(["git", f"--git-dir={git}", "show", f"{COMMIT}:{path}"], check=True, capture_output=True, text=True).stdout


def functions(text, names, scope):
    """Defines functions and classes of a file in a scope, wherever they stand in it."""
    for node in ast.walk(ast.parse(text)):
        if getattr(node, "name", None) in names and isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            node.decorator_list = [d for d in node.decorator_list if "dataclass" in ast.dump(d)]
            module = ast.Module([node], [])
            # an import of a module of its own is in the scope already
            for inner in ast.walk(node):
                if hasattr(inner, "body") and isinstance(inner.body, list):
                    inner.body = [s for s in inner.body if not isinstance(s, ast.ImportFrom)] or [ast.Pass()]
            exec(compile(ast.fix_missing_locations(module), path_of(names), "exec"), scope)


def path_of(names):
    return "+".join(sorted(names))


class Param:
    def __init__(self, name, numel, fp8=False, expert=False, shared=False):
        self.name, self.numel_, self.fp8, self.dtype, self.requires_grad = name, numel, fp8, "bf16", True
        self.data = types.SimpleNamespace(nelement=lambda: numel)
        if expert:
            self.allreduce = False
        if shared:
            self.shared_embedding = True


class Group:
    def __init__(self, buckets, *_):
        self.buckets = buckets


def scope_of(git):
    import dataclasses
    torch = types.SimpleNamespace(uint8="uint8", float="fp32", dtype=str, Tensor=object, nn=types.SimpleNamespace(Parameter=Param))
    scope = dict(math=math, torch=torch, dataclass=dataclasses.dataclass, field=dataclasses.field, Enum=enum.Enum,
                 _param_uses_quantized_storage=lambda p: p.fp8, _ParamAndGradBucketGroup=Group, _ParamAndGradBuffer=object)
    scope.update({k: getattr(typing, k) for k in ("Dict", "List", "Optional", "Tuple")})
    functions(source(git, "megatron/core/optimizer/param_layout.py"), {"pad_to_divisor", "pad_param_start", "bucket_end_divisor", "pad_bucket_end", "BufferKey", "PerBufferParamLayout"}, scope)
    functions(source(git, "megatron/core/distributed/param_and_grad_buffer.py"), {"group_params_for_buffers", "partition_buckets", "_compute_default_per_buffer_param_layout"}, scope)
    functions(source(git, "megatron/core/optimizer/distrib_optimizer.py"), {"_compute_per_buffer_param_layout"}, scope)
    functions(source(git, "megatron/training/training.py"), {"resolve_ddp_bucket_size"}, scope)
    functions(source(git, "megatron/core/tokenizers/utils/build_tokenizer.py"), {"vocab_size_with_padding"}, scope)
    scope["get_pg_size"] = lambda g: g
    return scope


def stage(scope, model, tp, pp, fp8):
    """The tensors of rank 0 in the order of their registration."""
    h, v = model["hidden"], model["vocab"]
    v = scope["vocab_size_with_padding"](v, types.SimpleNamespace(make_vocab_size_divisible_by=128, tensor_model_parallel_size=tp, rank=1))
    tied = model.get("tied", False)
    yield Param("embedding.word_embeddings.weight", v // tp * h, shared=tied and pp > 1)
    for i in range(model["layers"] // pp):
        at = f"decoder.layers.{i}."
        q, kv = model["heads"] * model["head"], 2 * model["groups"] * model["head"]
        yield Param(at + "self_attention.linear_proj.weight", q // tp * h, fp8)
        yield Param(at + "self_attention.linear_qkv.layer_norm_weight", h)
        yield Param(at + "self_attention.linear_qkv.weight", (q + kv) // tp * h, fp8)
        yield Param(at + "mlp.linear_fc1.layer_norm_weight", h)
        yield Param(at + "mlp.linear_fc1.weight", 2 * model["ffn"] // tp * h, fp8)
        yield Param(at + "mlp.linear_fc2.weight", model["ffn"] // tp * h, fp8)
    if pp == 1:
        yield Param("decoder.final_layernorm.weight", h)
        if not tied:
            yield Param("output_layer.weight", v // tp * h)


def lengths(sizes):
    """Runs of equal sizes: [[size, how often], ...]."""
    return [[k, len(list(g))] for k, g in groupby(sizes)]


def digest(sizes):
    """The beginning of the hash of a sequence, which is too long to keep."""
    return hashlib.sha256(",".join(map(str, sizes)).encode()).hexdigest()[:16]


def layout(scope, params, case):
    config = types.SimpleNamespace(pad_buckets_for_high_nccl_busbw=case["pad"], num_buckets=None, bucket_size=case["bucket_size"] or None)
    size = scope["resolve_ddp_bucket_size"](config, case["dp"], True, sum(p.numel_ for p in params))
    buffers = []
    for key, (group, indices) in scope["group_params_for_buffers"](params, True).items():
        if case["sharded"]:
            made = scope["_compute_per_buffer_param_layout"](group, size, case["dp"], config, indices)
        else:
            made = scope["_compute_default_per_buffer_param_layout"](group, size)
        buckets = [types.SimpleNamespace(size=e - s, bytes=(e - s) * (1 if key.param_dtype == "uint8" else 2)) for s, e in made.bucket_indices]
        buffers.append(types.SimpleNamespace(param_dtype=key.param_dtype, buckets=buckets, ddp_config=config, data_parallel_group=0, data_parallel_world_size=case["dp"]))
    groups = scope["partition_buckets"](buffers)
    reduced, gathered = ([sum(getattr(b, what) for b in g.buckets) for g in groups] for what in ("size", "bytes"))
    return dict(sizes=lengths(sorted(reduced)), reduced=digest(reduced), gathered=digest(gathered))


MODELS = {
    "llama3-8b": dict(hidden=4096, layers=32, ffn=14336, heads=32, groups=8, head=128, vocab=128256),
    "llama3-70b": dict(hidden=8192, layers=80, ffn=28672, heads=64, groups=8, head=128, vocab=128256),
    "tied": dict(hidden=4096, layers=32, ffn=14336, heads=32, groups=8, head=128, vocab=128256, tied=True),
}


def main():
    scope, out = scope_of(sys.argv[1]), []
    for name in MODELS:
        for tp, pp in ((1, 1), (8, 1), (8, 4), (1, 4), (16, 2)):
            for fp8 in (False, True):
                for size in (0, 4_000_000, 94_000_000, 410_000_000):
                    for sharded, dp, pad in ((True, 64, False), (True, 24, True), (False, 16, False)):
                        if fp8 and not sharded:
                            continue  # Megatron refuses it
                        case = dict(model=name, tp=tp, pp=pp, fp8=fp8, bucket_size=size, sharded=sharded, dp=dp, pad=pad)
                        out.append({**case, **layout(scope, list(stage(scope, MODELS[name], tp, pp, fp8)), case)})
    head = dict(source="NVIDIA/Megatron-LM at " + COMMIT[:8] + ", run by scripts/trainer-layouts.py", cases=[])
    print(json.dumps(head)[:-2] + "\n" + ",\n".join(json.dumps(c) for c in out) + "\n]}")


main()
