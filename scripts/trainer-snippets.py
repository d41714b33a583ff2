#!/usr/bin/env python3
"""Parses every text that zbench prints for a trainer with the trainer's own parser.

    go test ./bench/job/trainer -run TestPrintedKeys -snippets FILE
    scripts/trainer-snippets.py FILE DIR | sed -n "/^{/,\$p" > bench/job/trainer/testdata/parsers.json

DIR has checkouts at the commits below: megatron, bridge, primus, deepspeed, accelerate,
lightning. Python needs torch, omegaconf, pydantic and yaml; mocks replace other imports of the
checkouts. The script ends at the first text that a parser rejects. It writes the names and types
of the keys, and the source of each parser.
"""
import argparse, ast, dataclasses, importlib, importlib.abc, importlib.machinery, importlib.util, inspect, json, os, re, shlex, subprocess, sys, types
from unittest import mock

COMMITS = {
    "megatron": "NVIDIA/Megatron-LM d98e8a64", "bridge": "NVIDIA-NeMo/Megatron-Bridge 067f987d", "primus": "AMD-AGI/Primus fd1eeabb",
    "deepspeed": "deepspeedai/DeepSpeed edaa7221", "accelerate": "huggingface/accelerate 16cb6eb8", "lightning": "Lightning-AI/pytorch-lightning 7f0c3436",
}


class StandIn(types.ModuleType):
    """A module that is not installed: everything in it is a mock."""
    __path__, __file__ = [], os.devnull

    def __getattr__(self, name):
        if name == "__version__":
            return "99.0.0"
        if name.startswith("__"):
            raise AttributeError(name)
        return mock.MagicMock(name=f"{self.__name__}.{name}")


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, keep):
        self.keep = keep

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.keep:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return StandIn(spec.name)

    def exec_module(self, module):
        pass


def fields(path, name):
    """Returns the annotated fields of a class and of its bases in the same file."""
    tree = ast.parse(open(path).read())
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == name:
            for base in node.bases:
                if isinstance(base, ast.Name):
                    found.update(fields(path, base.id))
            for x in node.body:
                if isinstance(x, ast.AnnAssign):
                    found[x.target.id] = ast.unparse(x.annotation)
    return found


def code(text):
    return "\n".join(x for x in text.splitlines() if not x.strip().startswith("#"))


def megatron(root, texts):
    import torch
    torch.float8_e8m0fnu = torch.uint8  # Debian's torch is older and lacks this type
    sys.path.insert(0, f"{root}/megatron")
    from megatron.training.arguments import add_megatron_arguments
    parser = add_megatron_arguments(argparse.ArgumentParser(allow_abbrev=False))
    keys = {}
    for text in texts:
        body = re.search(r"BUCKET_ARGS=\((.*?)\n\)", text, re.S).group(1)
        words = shlex.split(body, comments=True)
        parser.parse_args(words)
        for word in words:
            if word.startswith("--"):
                action = parser._option_string_actions[word]
                keys[word[2:]] = getattr(action.type, "__name__", None) or ("flag" if action.nargs == 0 else "str")
    return keys


def primus(root, texts):
    import yaml
    sys.path.insert(0, f"{root}/primus")
    from primus.core.config.yaml_loader import parse_yaml
    base = parse_yaml(f"{root}/primus/primus/configs/modules/megatron/pre_trainer.yaml")
    names = set(re.findall(r"--[a-z0-9-]+", open(f"{root}/megatron/megatron/training/arguments.py").read()))
    base |= parse_yaml(f"{root}/primus/primus/configs/models/megatron/language_model.yaml")
    keys = {}
    for text in texts:
        for key, value in yaml.safe_load(text)["modules"]["pre_trainer"]["overrides"].items():
            # A key that is not in Primus's base configuration must be an option of Megatron.
            assert key in base or "--" + key.replace("_", "-") in names, f"Primus has no {key}"
            keys[key] = type(value).__name__
    return keys


def alone(name, path):
    """Loads a module of a checkout without its package's own __init__."""
    spec = importlib.util.spec_from_file_location(name, path)
    sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def bridge(root, texts):
    """Parses overrides with OmegaConf, into the classes that Bridge uses."""
    import omegaconf, yaml
    m, b = f"{root}/megatron/megatron/core", f"{root}/bridge/src/megatron/bridge"
    parts = {
        "comm_overlap": fields(f"{b}/training/comm_overlap.py", "CommOverlapConfig"),
        "ddp": fields(f"{m}/distributed/distributed_data_parallel_config.py", "DistributedDataParallelConfig"),
        "optimizer": fields(f"{m}/optimizer/optimizer_config.py", "OptimizerConfig"),
        "model": fields(f"{m}/model_parallel_config.py", "ModelParallelConfig"),
    }
    recipes = open(f"{b}/training/mixed_precision.py").read()
    core = "megatron.core"
    own = {
        "comm_overlap": alone("megatron.bridge.training.comm_overlap", f"{b}/training/comm_overlap.py").CommOverlapConfig,
        "ddp": alone(f"{core}.distributed.distributed_data_parallel_config", f"{m}/distributed/distributed_data_parallel_config.py").DistributedDataParallelConfig,
        "optimizer": alone(f"{core}.optimizer.optimizer_config", f"{m}/optimizer/optimizer_config.py").OptimizerConfig,
        "model": alone(f"{core}.model_parallel_config", f"{m}/model_parallel_config.py").ModelParallelConfig,
    }
    keys = {}
    for text in texts:
        said = omegaconf.OmegaConf.to_container(omegaconf.OmegaConf.from_dotlist(shlex.split(text, comments=True)))
        for part, values in said.items():
            if part != "mixed_precision":
                needs = {"tp_comm_overlap": False} if part == "comm_overlap" else {}
                made = own[part](**needs, **values)
                assert all(getattr(made, name) == value for name, value in values.items()), text
        for word in shlex.split(text, comments=True):
            key, _, value = word.partition("=")
            value = yaml.safe_load(value)
            if key == "mixed_precision":
                assert f"def {value}(" in recipes, word
                keys[key] = "str"
                continue
            part, name = key.split(".")
            assert name in parts[part], f"Bridge's {part} has no {name}"
            assert type(value).__name__ in parts[part][name], f"{word}: {parts[part][name]}"
            keys[key] = type(value).__name__
    return keys


def deepspeed(root, texts):
    # deepspeed's own __init__ needs an accelerator, so only these files are loaded, with mocks for other modules.
    for name in ("runtime.config_utils", "runtime.zero.offload_config", "runtime.zero.config"):
        spec = importlib.util.spec_from_file_location(f"deepspeed.{name}", f"{root}/deepspeed/deepspeed/{name.replace('.', '/')}.py")
        sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[spec.name])
    DeepSpeedZeroConfig = sys.modules["deepspeed.runtime.zero.config"].DeepSpeedZeroConfig
    constants = {n.value.value for n in ast.walk(ast.parse(open(f"{root}/deepspeed/deepspeed/runtime/constants.py").read()))
                 if isinstance(n, ast.Assign) and isinstance(n.value, ast.Constant)}
    precision = {n for n in re.findall(r"[\"'](bf16|fp16)[\"']", open(f"{root}/deepspeed/deepspeed/runtime/precision_config.py").read())}
    keys = {}
    for text in texts:
        config = json.loads(code(text))
        zero = config["zero_optimization"]
        DeepSpeedZeroConfig(**zero)
        for key in zero:
            assert key in DeepSpeedZeroConfig.model_fields, key
            keys[key] = type(zero[key]).__name__
        for key, value in config.items():
            assert key in constants | precision | {"zero_optimization"}, f"DeepSpeed has no {key}"
            keys[key] = type(value).__name__
            if isinstance(value, dict) and key != "zero_optimization":
                keys.update({k: type(v).__name__ for k, v in value.items()})
    return keys


def one_process():
    import torch.distributed as dist
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29533", USE_LIBUV="0")
    dist.init_process_group("gloo", rank=0, world_size=1)


def ddp(_, texts):
    import torch
    keys = {}
    for text in texts:
        scope = {"torch": torch, "model": torch.nn.Linear(4, 4)}
        exec(text, scope)
        assert scope["model"].bucket_bytes_cap > 0
        call = ast.parse(text).body[0].value
        keys.update({k.arg: type(ast.literal_eval(k.value)).__name__ for k in call.keywords})
    return keys


def accelerate(root, texts):
    """Checks that Accelerate's own class makes arguments that torch's DDP accepts."""
    import torch
    src = f"{root}/accelerate/src/accelerate"
    for name in ("versions", "constants", "environment", "imports"):
        alone(f"accelerate.utils.{name}", f"{src}/utils/{name}.py")
    own = alone("accelerate.utils.dataclasses", f"{src}/utils/dataclasses.py").DistributedDataParallelKwargs
    handlers = {a.arg for n in ast.walk(ast.parse(open(f"{src}/accelerator.py").read()))
                if isinstance(n, ast.FunctionDef) and n.name == "__init__" for a in n.args.args}
    keys = {}
    for text in texts:
        made, used = ast.parse(text).body[:2]
        scope = {"accelerate": types.SimpleNamespace(DistributedDataParallelKwargs=own)}
        exec(compile(ast.Module([made], []), "printed", "exec"), scope)
        assert isinstance(scope["kwargs"], own)
        torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4), **scope["kwargs"].to_kwargs())
        keys.update({k.arg: type(ast.literal_eval(k.value)).__name__ for k in made.value.keywords})
        assert {k.arg for k in used.value.keywords} <= handlers
    return keys


def lightning(root, texts):
    """Checks that torch's DDP accepts the arguments that Lightning's DDPStrategy does not know and passes on."""
    import torch
    tree = ast.parse(open(f"{root}/lightning/src/lightning/pytorch/strategies/ddp.py").read())
    init = next(f for c in ast.walk(tree) if isinstance(c, ast.ClassDef) and c.name == "DDPStrategy" for f in c.body if getattr(f, "name", "") == "__init__")
    assert init.args.kwarg is not None and "**self._ddp_kwargs" in ast.unparse(tree)
    allowed = set(inspect.signature(torch.nn.parallel.DistributedDataParallel.__init__).parameters) | {a.arg for a in init.args.args}
    keys = {}
    for text in texts:
        for k in ast.parse(text).body[0].value.keywords:
            assert k.arg in allowed, k.arg
            keys[k.arg] = type(ast.literal_eval(k.value)).__name__
    return keys


def fsdp2(_, texts):
    import torch
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    keys = {}
    for text in texts:
        model = torch.nn.Module()
        model.embed_tokens, model.layers = torch.nn.Embedding(8, 4), torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(4))
        exec(text, {"model": model, "mesh": init_device_mesh("cpu", (1,)), "mp_policy": MixedPrecisionPolicy(), "fully_shard": fully_shard, "torch": torch})
        assert all(type(p).__name__ == "DTensor" or hasattr(p, "placements") for p in model.parameters()), "a tensor is in no unit"
        for name in ("mesh", "mp_policy", "reshard_after_forward"):
            if f"{name}=" in text:
                assert name in inspect.signature(fully_shard).parameters
                keys[name] = "object"
    return keys


def xla(_, texts):
    keys = {}
    for text in texts:
        for before in ({}, {"XLA_FLAGS": "--xla_dump_to=d"}):
            done = subprocess.run(["sh", "-euc", text + '\necho "$XLA_FLAGS"'], env={"PATH": os.environ["PATH"], **before}, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            words = shlex.split(done.stdout)
            assert not before or before["XLA_FLAGS"] in words
            for word in words:
                name, _, value = word.partition("=")
                if name.startswith("--xla_gpu"):
                    keys[name[2:]] = "bool" if value == "true" else "int"
    return keys


PARSERS = {
    "Megatron-LM arguments": (megatron, "megatron"), "Primus YAML": (primus, "primus"), "Megatron-Bridge overrides": (bridge, "bridge"),
    "DeepSpeed JSON": (deepspeed, "deepspeed"), "PyTorch DDP": (ddp, "torch"), "Accelerate": (accelerate, "accelerate"),
    "Lightning": (lightning, "lightning"), "PyTorch FSDP2": (fsdp2, "torch"), "XLA_FLAGS": (xla, "sh -eu"),
}


def main():
    texts = json.load(open(sys.argv[1]))
    import omegaconf, torch, torch.distributed.fsdp, yaml, pydantic  # the real modules, before mocks replace others
    sources = {**COMMITS, "torch": f"torch {torch.__version__.split('+')[0]}", "sh -eu": "sh -eu; names in openxla/xla, xla/debug_options_flags.cc"}
    sys.meta_path.append(StandIns({"torch", "transformer_engine", "transformer_engine_torch", "apex", "ck4inductor", "nvidia_resiliency_ext", "flash_attn", "flash_attn_3", "flashinfer", "mamba_ssm", "modelopt", "emerging_optimizers"}))
    one_process()
    # These two types are from reading the source, not from running it: training_args.py of huggingface/transformers
    # declares the field as int | None.
    known = {
        "Hugging Face Trainer": {"source": "huggingface/transformers 00349ae8, read", "keys": {"ddp_bucket_cap_mb": "int"}},
        "torchtitan": {"source": "pytorch/torchtitan b5bcd76c, read", "keys": {"reshard_after_forward": "object"}},
    }
    only = sys.argv[3:] or PARSERS
    for title in only:
        parse, of = PARSERS[title]
        mine = [x["text"] for x in texts if x["title"] == title]
        assert mine, title
        known[title] = {"source": sources[of], "keys": dict(sorted(parse(sys.argv[2], mine).items()))}
        print(f"{title}: {len(mine)} texts parsed by {sources[of]}", file=sys.stderr)
    json.dump(dict(sorted(known.items())), sys.stdout, indent=1)
    print()


main()
