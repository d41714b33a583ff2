"""Calls zbench_torch.install() once the program has imported torch. A program that never imports torch has no result."""
import atexit
import importlib.abc
import importlib.util
import os
import sys


class _AfterTorch(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        load = spec.loader.exec_module

        def exec_module(module):
            # torch looks for NVIDIA's package cuda, and would mistake a program's file cuda.py for it.
            if "cuda" not in sys.modules:
                sys.modules["cuda"] = None
            load(module)
            if sys.modules["cuda"] is None:
                del sys.modules["cuda"]
            import zbench_torch
            zbench_torch.install()

        spec.loader.exec_module = exec_module
        return spec


def _never():
    if "torch" not in sys.modules and not hasattr(sys, "last_value"):
        print("zbench loopback: NO RESULT: the program did not import torch, so nothing was simulated. Start a trainer of PyTorch, or leave --torch out", file=sys.stderr, flush=True)
        sys.stdout.flush()
        os._exit(6)


if os.environ.get("ZBENCH_TORCH_PROGRAM") == str(os.getpid()):
    atexit.register(_never)
if "ZBENCH_TORCH_RANKS" in os.environ:
    sys.meta_path.insert(0, _AfterTorch())
