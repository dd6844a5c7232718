"""Helpers around tensors and modules: `utils.data` feeds batches, `utils.hooks` holds the handle of a hook."""
