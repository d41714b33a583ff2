"""Runs zbench_torch.install() once the program has imported torch."""
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
            load(module)
            import zbench_torch
            zbench_torch.install()

        spec.loader.exec_module = exec_module
        return spec


if "ZBENCH_TORCH_RANKS" in os.environ:
    sys.meta_path.insert(0, _AfterTorch())
