"""The packages to compare with, as far as they are installed."""

from __future__ import annotations

import importlib
import os
from types import ModuleType


class Peers:
    """Packages that may or may not be installed."""

    def __init__(self) -> None:
        self.missing: list[str] = []
        self.found: list[str] = []
        # One thread for everybody; JAX reads this when it is imported.
        os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
        self.torch = self._find("torch", "PyTorch")
        self.jax = self._find("jax", "JAX")
        self.autograd = self._find("autograd", "HIPS autograd")
        self.implicit = self._find("implicit.cpu.bpr", "implicit", "implicit")
        if self.torch:
            self.torch.set_num_threads(1)
        if self.jax:
            self.jax.config.update("jax_enable_x64", True)

    def _find(self, module: str, name: str, package: str | None = None) -> ModuleType | None:
        try:
            found = importlib.import_module(module)
        except ImportError:
            self.missing.append(name)
            return None
        version = getattr(importlib.import_module(package or module), "__version__", "")
        self.found.append(f"{name} {version}".strip())
        return found
