"""Models in use: a server that answers by HTTP, and wheels that hold one."""

from .server import serve
from .wheel import build_wheel

__all__ = ["build_wheel", "serve"]
