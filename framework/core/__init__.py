"""Tensors, storage, geometry, graph nodes, modes and promotion. Knows no op."""
