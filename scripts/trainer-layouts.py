#!/usr/bin/env python3
"""Runs the trainers' own code for gradient buckets, and writes the resulting layouts and calls as JSON.

    scripts/trainer-layouts.py megatron GIT > bench/answers/advice/testdata/megatron-layouts.json
    scripts/trainer-layouts.py deepspeed GIT > bench/answers/advice/testdata/deepspeed-calls.json

GIT is a git directory of NVIDIA/Megatron-LM or deepspeedai/DeepSpeed that has the commit
below. The script extracts functions and classes from the trainer's files and runs them with
stand-ins for torch, in which a tensor is only a number of elements.

The tensors of Megatron's models are listed here in the order in which its modules register
them on rank 0 of the first pipeline stage. The tensors for DeepSpeed are those of Hugging
Face's models in forward order, and random lists.
"""
import ast, contextlib, dataclasses, enum, hashlib, itertools, json, math, random, subprocess, sys, types, typing
from collections import defaultdict, deque

REPOSITORIES = {"megatron": "NVIDIA/Megatron-LM", "deepspeed": "deepspeedai/DeepSpeed"}
COMMITS = {"megatron": "d98e8a64ddf34856e74b24714e3bedb2f5a39553", "deepspeed": "edaa7221267243c7be7fb49c5d5f5c4fb97b4641"}


def source(git, path):
    commit = COMMITS["deepspeed" if path.startswith("deepspeed") else "megatron"]
    return subprocess.run(["git", f"--git-dir={git}", "show", f"{commit}:{path}"], check=True, capture_output=True, text=True).stdout


def functions(text, names, scope):
    """Defines functions and classes of a file in a scope, at whatever depth they are."""
    for node in ast.walk(ast.parse(text)):
        if getattr(node, "name", None) in names and isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            node.decorator_list = [d for d in node.decorator_list if "dataclass" in ast.dump(d)]
            without_imports(node)
            exec(compile(ast.fix_missing_locations(ast.Module([node], [])), node.name, "exec"), scope)


def without_imports(node):
    """Removes `from` imports, because the scope already has their names."""
    for inner in ast.walk(node):
        if hasattr(inner, "body") and isinstance(inner.body, list):
            inner.body = [s for s in inner.body if not isinstance(s, ast.ImportFrom)] or [ast.Pass()]


def methods(text, name, names, scope):
    """Defines a class of a file in a scope with only some of its methods."""
    node = next(n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.ClassDef) and n.name == name)
    node.bases, node.decorator_list = [], []
    node.body = [n for n in node.body if getattr(n, "name", None) in names]
    assert {n.name for n in node.body} == set(names), set(names) - {n.name for n in node.body}
    for n in node.body:
        n.decorator_list = [d for d in n.decorator_list if ast.unparse(d) == "staticmethod"]
        without_imports(n)
    exec(compile(ast.fix_missing_locations(ast.Module([node], [])), name, "exec"), scope)
    return scope[name]


def anything(*_, **__):
    return None


class Param:
    """A parameter of Megatron: its shape, and the attributes that its modules set."""

    def __init__(self, name, *shape, fp8=False, expert=False, shared=False):
        self.name, self.shape, self.fp8, self.dtype, self.requires_grad = name, shape, fp8, "bf16", True
        self.data = types.SimpleNamespace(nelement=lambda: math.prod(shape), shape=shape)
        self.is_embedding_or_output_parameter = "embedding" in name or "output_layer" in name
        if expert:
            self.allreduce = False
        if shared:
            self.shared_embedding = True

    def dim(self):
        return len(self.shape)


class Calls:
    """Records the calls of a bucket group: name, elements, ranks. Coalesced calls count as one; a group of one rank
    sends nothing."""

    def start(self):
        self.made, self.coalesced = [], None

    def call(self, name, tensor, ranks):
        if ranks > 1:
            self.coalesced.append([name, tensor.numel(), ranks])

    @contextlib.contextmanager
    def coalescing(self, *_, **__):
        self.coalesced = []
        yield
        if self.coalesced:
            name, _, ranks = self.coalesced[0]
            self.made.append([name, sum(c[1] for c in self.coalesced), ranks])


def scope_of(git, calls):
    distributed = types.SimpleNamespace(
        ReduceOp=types.SimpleNamespace(SUM="sum"), get_rank=lambda: 0, all_reduce=lambda t, op, group, async_op: calls.call("all_reduce", t, group), ProcessGroup=object,
        all_to_all_single=lambda output, input, group, async_op: calls.call("all_to_all", input, group.size()))
    torch = types.SimpleNamespace(uint8="uint8", float="fp32", dtype=str, Tensor=object, nn=types.SimpleNamespace(Parameter=Param), distributed=distributed,
                                  cuda=types.SimpleNamespace(current_stream=anything, stream=lambda _: contextlib.nullcontext()), no_grad=contextlib.nullcontext, empty_like=lambda t: t)
    scope = dict(math=math, torch=torch, dataclass=dataclasses.dataclass, field=dataclasses.field, Enum=enum.Enum, HAVE_FSDP2=False, warn_rank_0=anything, log_single_rank=anything, logger=None, logging=types.SimpleNamespace(INFO=0),
                 _param_uses_quantized_storage=lambda p: p.fp8, _ParamAndGradBuffer=object, nullcontext=contextlib.nullcontext, _coalescing_manager=calls.coalescing, Any=object, get_pg_size=lambda g: g,
                 DDP=lambda config, ddp_config, module, disable_bucketing, full_param_layout=None, **_: full_param_layout)
    scope.update({k: getattr(typing, k) for k in ("Dict", "List", "Optional", "Tuple")})
    core = "megatron/core/"
    functions(source(git, core + "optimizer/param_layout.py"),
              {"pad_to_divisor", "pad_param_start", "bucket_end_divisor", "pad_bucket_end", "BufferKey", "PerBufferParamLayout", "FullParamLayout"}, scope)
    buffers = source(git, core + "distributed/param_and_grad_buffer.py")
    real = methods(buffers, "_ParamAndGradBucketGroup", {"start_grad_sync"}, scope)
    scope["_ParamAndGradBucketGroup"] = type("Group", (real,), {"__init__": lambda g, buckets, *_: g.__dict__.update(buckets=buckets)})
    functions(buffers, {"group_params_for_buffers", "partition_buckets", "_compute_default_per_buffer_param_layout", "shard_buffer"}, scope)
    functions(source(git, core + "distributed/reduce_scatter_with_fp32_accumulation.py"), {"reduce_scatter_with_fp32_accumulation"}, scope)
    scope["_ReduceScatterWithFP32AccumulationWorkHandle"] = lambda *_: True
    methods(source(git, core + "optimizer/distrib_optimizer.py"), "DistributedOptimizer", {"_compute_per_buffer_param_layout", "compute_full_param_layout"}, scope)
    wise = source(git, core + "optimizer/layer_wise_optimizer.py")
    methods(wise, "LayerWiseDistributedOptimizer", {"_shard_divisor", "_compute_per_buffer_param_layout", "compute_full_param_layout"}, scope)
    functions(wise, {"is_managed_by_layer_wise_optimizer", "tag_params_for_buffer_routing"}, scope)
    functions(source(git, "megatron/training/training.py"), {"resolve_ddp_bucket_size", "wrap_model_chunks_with_ddp"}, scope)
    functions(source(git, core + "tokenizers/utils/build_tokenizer.py"), {"vocab_size_with_padding"}, scope)
    # the part of validate_args that decides which optimizers are layer-wise
    decides = next(n for n in ast.walk(ast.parse(source(git, "megatron/training/arguments.py"))) if isinstance(n, ast.If) and ast.unparse(n.test) == "args.optimizer not in ('sgd', 'adam')")
    scope["decide_optimizer"] = lambda args: exec(compile(ast.Module([decides], []), "validate_args", "exec"), scope, dict(args=args))
    return scope


def stage(scope, model, tp, pp, fp8):
    """Returns the tensors of rank 0 in order of registration."""
    h, v = model["hidden"], model["vocab"]
    v = scope["vocab_size_with_padding"](v, types.SimpleNamespace(make_vocab_size_divisible_by=128, tensor_model_parallel_size=tp, rank=1))
    tied = model.get("tied", False)
    yield Param("embedding.word_embeddings.weight", v // tp, h, shared=tied and pp > 1)
    for i in range(model["layers"] // pp):
        at = f"decoder.layers.{i}."
        q, kv = model["heads"] * model["head"], 2 * model["groups"] * model["head"]
        yield Param(at + "self_attention.linear_proj.weight", h, q // tp, fp8=fp8)
        yield Param(at + "self_attention.linear_qkv.layer_norm_weight", h)
        yield Param(at + "self_attention.linear_qkv.weight", (q + kv) // tp, h, fp8=fp8)
        yield Param(at + "mlp.linear_fc1.layer_norm_weight", h)
        yield Param(at + "mlp.linear_fc1.weight", 2 * model["ffn"] // tp, h, fp8=fp8)
        yield Param(at + "mlp.linear_fc2.weight", h, model["ffn"] // tp, fp8=fp8)
    if pp == 1:
        yield Param("decoder.final_layernorm.weight", h)
        if not tied:
            yield Param("output_layer.weight", v // tp, h)


def lengths(sizes):
    """Returns runs of equal sizes: [[size, repetitions], ...]."""
    return [[k, len(list(g))] for k, g in itertools.groupby(sizes)]


def digest(sizes):
    """Returns the beginning of the hash of a sequence that is too long to keep."""
    return hashlib.sha256(",".join(map(str, sizes)).encode()).hexdigest()[:16]


def layouts(scope, params, case):
    """Returns Megatron's layout of each buffer, and its configuration."""
    args = types.SimpleNamespace(optimizer=case["optimizer"], use_distributed_optimizer=case["sharded"], use_torch_fsdp2=False, use_megatron_fsdp=False, ckpt_format="torch_dist")
    args.use_layer_wise_distributed_optimizer = False
    scope["decide_optimizer"](args)
    config = types.SimpleNamespace(
        pad_buckets_for_high_nccl_busbw=case["pad"], num_buckets=case["num_buckets"] or None, bucket_size=case["bucket_size"] or None, grad_reduce_in_fp32=True,
        use_distributed_optimizer=args.use_distributed_optimizer, overlap_grad_reduce=True, num_distributed_optimizer_instances=case["instances"], average_in_collective=False,
        check_for_nan_in_grad=False, check_for_large_grads=False, reduce_scatter_with_fp32_accumulation=case["summed"])
    size = scope["resolve_ddp_bucket_size"](config, case["dp"], True, sum(math.prod(p.shape) for p in params))
    dp, instances = case["dp"], case["instances"]
    ranks = types.SimpleNamespace(dp_cp=dp, expt_dp=dp // case["ep"], intra_dp_cp=dp // instances, intra_expt_dp=dp // case["ep"] // instances)
    (made,) = scope["wrap_model_chunks_with_ddp"](
        [types.SimpleNamespace(parameters=lambda: params)], None, config, pg_collection=ranks, bucket_sizes=[size],
        use_layer_wise_distributed_optimizer=args.use_layer_wise_distributed_optimizer, use_layer_wise_param_layout=not case["legacy"])
    if made is None:
        return config, {key: scope["_compute_default_per_buffer_param_layout"](group, size) for key, (group, _) in scope["group_params_for_buffers"](params, True).items()}
    return config, made.layouts


class Size(int):
    """The number of ranks of a group, in place of the group. Some callers use size()."""

    def size(self):
        return int(self)


def reduce(scope, calls, group, config, ranks):
    """Lets a bucket group start its reduction."""
    scope["dist_reduce_scatter_func"] = lambda view, whole, op, group, async_op: calls.call("reduce_scatter", whole, group)
    if config.reduce_scatter_with_fp32_accumulation:
        scope["dist_reduce_scatter_func"] = scope["reduce_scatter_with_fp32_accumulation"]
    inside = Size(ranks // config.num_distributed_optimizer_instances)
    group.__dict__.update(
        is_first_batch=False, grad_reduce_handle=None, previous_grad_reduce_bucket_group=None, ddp_config=config, communication_stream=types.SimpleNamespace(wait_stream=anything),
        intra_distributed_optimizer_instance_group=inside, intra_distributed_optimizer_instance_size=inside, intra_distributed_optimizer_instance_rank=0, data_parallel_group=Size(ranks),
        inter_distributed_optimizer_instance_group=Size(config.num_distributed_optimizer_instances), cached_grad_buffer_shard_list=[None] * len(group.buckets))
    group.start_grad_sync()


def layout(scope, calls, params, case):
    """Returns the bucket groups in the order of their last gradients, with their calls."""
    at = {p: i for i, p in enumerate(params)}
    config, of_buffers = layouts(scope, params, case)
    groups = []
    for expert in (False, True):
        buffers = []
        for key, made in of_buffers.items():
            if key.is_expert_parallel != expert:
                continue
            first = defaultdict(lambda: len(params))
            for p, (_, _, bucket) in made.param_index_map.items():
                first[bucket] = min(first[bucket], at[p])
            wide = 1 if key.param_dtype == "uint8" else 2
            buckets = [types.SimpleNamespace(bytes=(e - s) * wide, first=first[i], grad_data=Tensor(e - s), params_list=[], params_with_extra_main_grads=[], gradient_scaling_factor=1.0)
                       for i, (s, e) in enumerate(made.bucket_indices)]
            buffers.append(types.SimpleNamespace(param_dtype=key.param_dtype, buckets=buckets, ddp_config=None, data_parallel_group=0, data_parallel_world_size=0))
        for g in scope["partition_buckets"](buffers, reduce_scatter_with_fp32_accumulation=case["summed"]):
            groups.append((min(b.first for b in g.buckets), g, case["dp"] // (case["ep"] if expert else 1)))
    groups.sort(key=lambda g: -g[0])
    calls.start()
    for _, g, ranks in groups:
        reduce(scope, calls, g, config, ranks)
    reduced, gathered = [sum(b.grad_data.numel() for b in g.buckets) for _, g, _ in groups], [sum(b.bytes for b in g.buckets) for _, g, _ in groups]
    return dict(sizes=lengths(sorted(reduced)), reduced=digest(reduced), gathered=digest(gathered), calls=digest([x for c in calls.made for x in c]))


MODELS = {
    "llama3-8b": dict(hidden=4096, layers=32, ffn=14336, heads=32, groups=8, head=128, vocab=128256),
    "llama3-70b": dict(hidden=8192, layers=80, ffn=28672, heads=64, groups=8, head=128, vocab=128256),
    "tied": dict(hidden=4096, layers=32, ffn=14336, heads=32, groups=8, head=128, vocab=128256, tied=True),
}


def megatron_cases():
    base = dict(optimizer="adam", legacy=False, ep=1, fp8=False, summed=False, num_buckets=0, instances=1)
    for name in MODELS:
        for tp, pp in ((1, 1), (8, 1), (8, 4), (1, 4), (16, 2)):
            for size in (0, 4_000_000, 94_000_000, 410_000_000):
                for sharded, dp, pad in ((True, 64, False), (True, 24, True), (False, 16, False)):
                    case = {**base, "model": name, "tp": tp, "pp": pp, "bucket_size": size, "sharded": sharded, "dp": dp, "pad": pad}
                    yield case
                    if sharded:  # without a sharded optimizer Megatron rejects it
                        yield {**case, "fp8": True}
                        yield {**case, "fp8": True, "summed": True}
        for tp, pp in ((1, 1), (8, 4)):
            for size in (0, 94_000_000):
                for optimizer, sharded, legacy in (("sgd", True, False), ("sgd", False, False), ("muon", True, False), ("muon", True, True), ("muon", False, False), ("dist_muon", False, False), ("lion", True, False)):
                    for dp, pad in ((64, False), (24, True)):
                        yield {**base, "model": name, "tp": tp, "pp": pp, "bucket_size": size, "sharded": sharded, "dp": dp, "pad": pad, "optimizer": optimizer, "legacy": legacy}
            for n in (1, 7, 30):
                yield {**base, "model": name, "tp": tp, "pp": pp, "bucket_size": 0, "num_buckets": n, "sharded": True, "dp": 64, "pad": False}
    rng = random.Random(34)
    for _ in range(200):
        side, ep = (1, 7, 64, 100, 256), rng.choice((1, 1, 2, 4))
        tensors = [[rng.choice(side) * 10, 64]] + [[rng.choice(side), rng.choice(side)] if rng.random() < 0.7 else [rng.choice(side)] for _ in range(rng.randint(1, 60))]
        optimizer, sharded = rng.choice((("adam", True), ("adam", False), ("muon", True)))
        instances = rng.choice((1, 1, 2, 4)) if sharded and optimizer == "adam" else 1
        yield {**base, "instances": instances, "tensors": tensors, "experts": [i for i in range(1, len(tensors)) if ep > 1 and rng.random() < 0.4], "tp": 1, "pp": rng.choice((1, 2)), "ep": ep,
               "fp8": sharded and optimizer == "adam" and rng.random() < 0.4, "bucket_size": rng.randint(1, 1 << 18), "sharded": sharded, "optimizer": optimizer,
               "dp": instances * ep * rng.randint(2, 33), "pad": rng.random() < 0.3}


def made_up(case):
    """Returns a list of tensors; the first is an embedding that a second stage would share."""
    for i, shape in enumerate(case["tensors"]):
        yield Param("embedding" if i == 0 else f"w{i}", *shape, expert=i in case["experts"], shared=i == 0 and case["pp"] > 1, fp8=case["fp8"] and i > 0 and len(shape) == 2)


def megatron(git):
    calls, out = Calls(), []
    scope = scope_of(git, calls)
    for case in megatron_cases():
        params = made_up(case) if "tensors" in case else stage(scope, MODELS[case["model"]], case["tp"], case["pp"], case["fp8"])
        out.append({**case, **layout(scope, calls, list(params), case)})
    return {}, out


# DeepSpeed


class Tensor:
    """A tensor that is only a number of elements. narrow beyond its end raises an error."""

    def __init__(self, numel, dtype="bf16"):
        self.n, self.dtype, self.device, self.is_sparse = numel, dtype, "gpu", False

    def numel(self):
        return self.n

    def size(self):
        return self

    def dim(self):
        return 1

    def narrow(self, _, start, n):
        assert 0 <= start and start + n <= self.n, (start, n, self.n)
        return Tensor(n, self.dtype)

    def __getitem__(self, at):
        return Tensor(len(range(*at.indices(self.n))), self.dtype)

    def to(self, dtype, **_):
        return Tensor(self.n, dtype)

    def copy_(self, other, **_):
        assert self.n == other.n, (self.n, other.n)
        return self

    def same(self, *_, **__):
        return self

    view = view_as = div_ = mul_ = div = mul = record_stream = same
    data = property(same, lambda self, other: self.copy_(other))


class Weight(Tensor):
    """A parameter of DeepSpeed with its gradient."""

    def __init__(self, numel, at, expert, group):
        super().__init__(numel)
        self.at, self.expert, self.ds_id, self.ds_numel, self.requires_grad = at, expert, at, numel, True
        self.grad, self.grad_accum, self.group_name, self.ds_process_group = Tensor(numel), None, "ep", group
        if expert:
            self.allreduce = False


class Ranks:
    def __init__(self, size):
        self.size = size


class World:
    """Records each call: name, elements, ranks, and the parameters of the backward pass at which the call is made and
    waited for. Computation is one stream, and reductions may use another."""

    def start(self, case):
        self.calls, self.boundary = [], None
        self.compute, self.side = Stream(self), Stream(self)
        self.streams = [self.compute]
        self.dense, self.experts = Ranks(case["dp"]), Ranks(case["dp"] // case["ep"])

    def call(self, name, tensor, group):
        if tensor.numel() == 0:
            raise AssertionError("a call of nothing")
        blocks = self.streams[-1] is self.compute
        self.calls.append([name, tensor.numel(), group.size, self.boundary, self.boundary if blocks else -1])

    def waited(self, upto):
        for c in self.calls[:upto]:
            if c[4] < 0:
                c[4] = self.boundary

    @contextlib.contextmanager
    def stream(self, stream):
        self.streams.append(stream)
        yield
        self.streams.pop()


class Stream:
    def __init__(self, world):
        self.world = world

    def wait_stream(self, other):
        if self is self.world.compute and other is not self:
            self.world.waited(len(self.world.calls))

    def synchronize(self):
        pass  # called only at the end of backward


class Event:
    def __init__(self, world):
        self.world = world

    def record(self):
        self.upto = len(self.world.calls)

    def query(self):
        return False

    def synchronize(self):
        self.world.waited(self.upto)


def deepspeed_scope(git, world):
    accelerator = types.SimpleNamespace(
        resolves_data_dependency=lambda: False, handles_memory_backpressure=lambda: False, is_synchronized_device=lambda: False, current_stream=lambda: world.streams[-1],
        stream=world.stream, synchronize=anything, current_device_name=lambda: "gpu", device_count=lambda: 8, Event=lambda: Event(world), on_accelerator=lambda _: True)
    dist = types.SimpleNamespace(
        get_rank=lambda group=None: 0, get_world_size=lambda group=None: group.size if group else world.dense.size, get_global_rank=lambda group, rank: rank,
        all_reduce=lambda t, group: world.call("all_reduce", t, group), reduce=lambda t, rank, group: world.call("reduce", t, group))
    torch = types.SimpleNamespace(
        empty=lambda n, dtype=None, device=None: Tensor(n, dtype), float32="fp32", float16="fp16", bfloat16="bf16", dtype=str, Tensor=Tensor,
        cat=lambda all: Tensor(sum(t.numel() for t in all)), zeros=lambda n, dtype=None, device=None: Tensor(n, dtype),
        chunk=lambda t, n: [t[i * -(-t.numel() // n):(i + 1) * -(-t.numel() // n)] for i in range(n)])
    scope = dict(
        math=math, torch=torch, dist=dist, defaultdict=defaultdict, dataclass=dataclasses.dataclass, field=dataclasses.field, get_accelerator=lambda: accelerator,
        is_moe_param=lambda p: p.expert, MuonWithAuxAdam=type(None), pg_correctness_test=False, sort_dtypes=sorted, see_memory_usage=anything, Tensor=Tensor,
        instrument_w_nvtx=lambda f: f, ProcessGroup=object, Parameter=Weight, split_half_float_double=lambda grads: [grads], debug_param2name=str,
        print_rank_0=anything, MEMORY_OPT_ALLREDUCE_SIZE=500000000, nn=types.SimpleNamespace(Parameter=Weight),
        _torch_reduce_scatter_fn=lambda whole, part, group: world.call("reduce_scatter", whole, group), ZeroStageEnum=types.SimpleNamespace(optimizer_states=1),
        DtypeEnum=lambda name: types.SimpleNamespace(value=name), BFLOAT16="bf16", ZERO_OPTIMIZATION="zero", AMP="amp", is_zero_supported_optimizer=lambda _: True, z3_leaf_parameter=lambda _: False)
    scope.update({k: getattr(typing, k) for k in ("Any", "Dict", "List", "Optional", "Set", "Tuple", "Union", "cast")})
    functions(source(git, "deepspeed/runtime/utils.py"), {"align_dense_tensors"}, scope)
    functions(source(git, "deepspeed/moe/utils.py"), {"split_params_into_different_moe_groups_for_optimizer"}, scope)
    functions(source(git, "deepspeed/runtime/comm/coalesced_collectives.py"), {"reduce_scatter_coalesced"}, scope)
    one, three = source(git, "deepspeed/runtime/zero/stage_1_and_2.py"), source(git, "deepspeed/runtime/zero/stage3.py")
    functions(one, {"IPGBucket"}, scope)
    functions(three, {"IPGBucketZ3"}, scope)
    methods(one, "DeepSpeedZeroOptimizer", {
        "initialize_gradient_partitioning_data_structures", "initialize_gradient_partition", "get_first_param_index", "get_partition_info", "get_param_id",
        "flatten_dense_tensors_aligned", "setup_buckets", "process_gradients", "_release_ipg_buffers",
        "_clear_previous_reduced_grads", "clear_grad_attribute", "get_gradient_for_reduction", "_fill_param_grad_accum_attribute", "reduce_ready_partitions_and_remove_grads",
        "reduce_independent_p_g_buckets_and_remove_grads", "reduce_ipg_grads", "average_tensor", "allreduce_and_scatter", "allreduce_and_copy_with_multiple_ranks",
        "allreduce_bucket", "allreduce_and_copy", "allreduce_no_retain", "reduce_gradients",
        "overlapping_partition_gradients_reduce_epilogue", "independent_gradient_partition_epilogue",
    }, scope)
    methods(three, "DeepSpeedZeroOptimizer_Stage3", {
        "reduce_ready_partitions_and_remove_grads", "reduce_independent_p_g_buckets_and_remove_grads", "__add_grad_to_ipg_bucket", "__reduce_and_partition_ipg_grads",
        "__avg_scatter_grads", "_get_param_partition_group", "_assert_same_partition_group", "_gradient_averaging_world_size",
        "_autoep_expert_parallel_group", "overlapping_partition_gradients_reduce_epilogue", "independent_gradient_partition_epilogue",
    }, scope)
    methods(source(git, "deepspeed/runtime/engine.py"), "DeepSpeedEngine", {"allreduce_gradients", "_do_optimizer_sanity_check", "get_data_types"}, scope)
    return scope


def flat_groups(scope, z, params):
    """Returns the optimizer's groups of parameters, flattened and divided like in __init__."""
    groups = scope["split_params_into_different_moe_groups_for_optimizer"]({"params": list(params), "name": "all"}) if any(p.expert for p in params) else [{"params": list(params)}]
    for i, group in enumerate(g["params"] for g in groups if g["params"]):
        ranks = z.expert_dp_process_group["ep"] if group[0].expert else z.dp_process_group
        for k, p in enumerate(group):
            p.param_idx_in_group = k
        z.bit16_groups.append(group)
        z.real_dp_process_group.append(ranks)
        z.round_robin_bit16_groups.append(group)
        size = z.flatten_dense_tensors_aligned(group, z.nccl_start_alignment_factor * ranks.size).numel() / ranks.size
        mine, _, _ = z.get_partition_info(group, size, 0)
        z.partition_size.append(size)
        for p in params:
            z.param_id[id(p)] = p.at
            z.is_param_in_current_partition.setdefault(p.at, False)
        z.is_param_in_current_partition.update({p.at: True for p in mine})


def stages_1_and_2(scope, world, params, case):
    z = object.__new__(scope["DeepSpeedZeroOptimizer"])
    z.__dict__.update(
        contiguous_gradients=True, overlap_comm=case["overlap"], partition_gradients=case["stage"] == 2, reduce_scatter=True,
        use_multi_rank_bucket_allreduce=case["multi_rank"], reduce_bucket_size=case["size"], reduction_stream=world.side, ipg_buckets={"bf16": scope["IPGBucket"]()},
        dp_process_group=world.dense, expert_dp_process_group={"ep": world.experts}, real_dp_process_group=[], nccl_start_alignment_factor=2, partition_size=[],
        bit16_groups=[], round_robin_bit16_groups=[], param_id={}, params_already_reduced=[False] * len(params), is_param_in_current_partition={}, extra_large_param_to_reduce={},
        previous_reduced_grads=defaultdict(list), communication_data_type="bf16", dtype="bf16", gradient_average=True, sequence_parallel_size=1, postscale_gradients=True,
        gradient_predivide_factor=1.0, optimizer=object(), zenflow=False, cpu_offload=False, use_grad_accum_attribute=False, _coalesce_grad_reduction=False,
        ready_for_gradients=False, micro_step_id=0, params_in_partition=defaultdict(list), first_offset=defaultdict(int), all_grad_tensors={}, averaged_gradients={},
        gradient_accumulation_dtype="bf16", has_moe_layers=any(p.expert for p in params))
    z.__dict__.update({n: {} for n in (
        "param_to_partition_ids", "is_partition_reduced", "remaining_grads_in_partition", "total_grads_in_partition", "is_grad_computed", "grad_partition_insertion_offset",
        "grad_start_offset", "first_param_index_in_partition")})
    z.__dict__.update(
        flatten=lambda all: Tensor(sum(t.numel() for t in all)), unflatten=lambda flat, like: [Tensor(t.numel()) for t in like], copy_grads_in_partition=anything,
        report_ipg_memory_usage=anything, _maybe_reduce_autoep_folding_tp_gradient=anything, get_param_comm_dtype=lambda p: "bf16", _clear_param_grad_only=anything,
        get_all_grad_tensors=lambda *_, **__: [], get_flat_partition=anything, is_gradient_accumulation_boundary=lambda: True)
    flat_groups(scope, z, params)
    z.initialize_gradient_partitioning_data_structures()
    group_of = {id(p): i for i, g in enumerate(z.bit16_groups) for p in g}
    return z, lambda p: z.process_gradients(p, group_of[id(p)])


def stage_3(scope, world, params, case):
    z = object.__new__(scope["DeepSpeedZeroOptimizer_Stage3"])
    stream = world.side if case["overlap"] else world.compute
    z.__dict__.update(
        contiguous_gradients=True, reduce_scatter=True, reduce_bucket_size=case["size"], reduce_and_partition_stream=stream,
        ipg_buckets={"bf16": scope["IPGBucketZ3"](buffer=Tensor(case["size"]))}, param_reduce_events=deque(), max_param_reduce_events=2, dp_process_group=world.dense,
        enable_sanity_checks=False, postscale_gradients=True, gradient_predivide_factor=1.0, all2all_process_group=None, zenflow=False, dtype="bf16", sequence_parallel_size=1,
        gradient_accumulation_dtype="bf16", offload_optimizer=True, params_already_reduced={}, _coalesce_grad_reduction=False, fp16_groups=[])
    z.__dict__.update(
        report_ipg_memory_usage=anything, get_param_comm_dtype=lambda p: "bf16", is_zenflow_select_boundary=lambda: False, partition_grads=anything)
    for p in params:
        p.partition_numel = lambda p=p: -(-p.ds_numel // p.ds_process_group.size)
    return z, z.reduce_ready_partitions_and_remove_grads


def backward(scope, world, sizes, experts, case):
    """Plays one backward pass, the last parameter first, with the trainer's own hooks, and the engine's calls after
    it."""
    world.start(case)
    params = [Weight(n, i, e, world.experts if e else world.dense) for i, (n, e) in enumerate(zip(sizes, experts))]
    z, hook = (stage_3 if case["stage"] == 3 else stages_1_and_2)(scope, world, params, case)
    for p in reversed(params):
        world.boundary = p.at
        hook(p)
    engine = object.__new__(scope["DeepSpeedEngine"])
    engine.__dict__.update(
        optimizer=z, is_deepcompile_active=lambda: False, is_gradient_accumulation_boundary=lambda: True, _reduce_autoep_folding_tp_replicated_gradients=anything,
        zero_optimization_partition_gradients=lambda: case["stage"] >= 2, zero_optimization_stage=lambda: case["stage"], pipeline_parallelism=False, zenflow=False)
    world.boundary = 0
    engine.allreduce_gradients()
    return world.calls


def hugging_face(model):
    """Returns the tensors of a Llama in forward order."""
    h, ffn, kv = model["hidden"], model["ffn"], model["groups"] * model["head"]
    block = [h, h * h, kv * h, kv * h, h * h, h, ffn * h, ffn * h, h * ffn]
    return [model["vocab"] * h] + block * model["layers"] + [h, model["vocab"] * h]


def bucketless(scope):
    """Returns the configurations for which the engine accepts an optimizer other than ZeRO's own."""
    for model, accumulated, stage, offload in itertools.product(("fp32", "fp16", "bf16"), (None, "fp32", "bf16"), (1, 2, 3), (False, True)):
        e = object.__new__(scope["DeepSpeedEngine"])
        e.__dict__.update(
            fp16_enabled=lambda: model == "fp16", bfloat16_enabled=lambda: model == "bf16", _config=types.SimpleNamespace(grad_accum_dtype=accumulated),
            zero_optimization=lambda: True, amp_enabled=lambda: False, zero_optimization_stage=lambda: stage, zero_cpu_offload=lambda: offload)
        if e._do_optimizer_sanity_check(None) != "zero":
            yield dict(model=model, accumulated=accumulated, stage=stage, offload=offload)


def deepspeed_cases():
    for name in ("llama3-8b", "llama3-70b"):
        for size in (16_777_216, 100_000_000, 500_000_000, 2_000_000_000):
            for dp in (8, 24, 200):
                for stage in (1, 2, 3):
                    for overlap in (True, False):
                        yield dict(model=name, size=size, dp=dp, ep=1, stage=stage, overlap=overlap, multi_rank=True)
    rng = random.Random(34)
    for _ in range(200):
        sizes = [rng.choice((1, 7, 64, 100, 1000, 5000)) * rng.randint(1, 9) for _ in range(rng.randint(1, 40))]
        ep = rng.choice((1, 1, 2, 4))
        experts = [ep > 1 and i > 0 and rng.random() < 0.4 for i in range(len(sizes))]
        yield dict(tensors=sizes, experts=[i for i, e in enumerate(experts) if e], size=rng.randint(1, 2 * max(sizes)), dp=ep * rng.randint(2, 33), ep=ep,
                   stage=rng.randint(1, 3), overlap=rng.random() < 0.7, multi_rank=rng.random() < 0.8)


def deepspeed(git):
    world = World()
    scope = deepspeed_scope(git, world)
    out = []
    for case in deepspeed_cases():
        sizes = case.get("tensors") or hugging_face(MODELS[case["model"]])
        calls = backward(scope, world, sizes, [i in case.get("experts", ()) for i in range(len(sizes))], case)
        out.append({**case, "sizes": lengths(sorted(c[1] for c in calls)), "calls": digest([x for c in calls for x in c])})
    return dict(bucketless=list(bucketless(scope))), out


def main():
    name, git = sys.argv[1:]
    more, cases = {"megatron": megatron, "deepspeed": deepspeed}[name](git)
    head = dict(source=f"{REPOSITORIES[name]} at {COMMITS[name][:8]}, run by scripts/trainer-layouts.py", **more, cases=[])
    print(json.dumps(head)[:-2] + "\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]}")


main()
