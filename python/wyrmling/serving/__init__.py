"""Models in use: wheels that hold one."""

from .wheel import build_wheel

__all__ = ["build_wheel"]
