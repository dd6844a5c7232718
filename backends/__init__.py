"""Arrays in, arrays out: the array libraries behind one set of primitives. Knows no Tensor."""
