"""From an op entry to a call: schema, generated functions, the slow path, records, views, in-place writes, levels."""
