"""Function transforms: `grad`, `vjp`, `jvp`, `vmap` and what is made of them."""

from .transforms import grad, jvp, vmap

__all__ = ["grad", "jvp", "vmap"]
