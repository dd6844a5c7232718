"""Einstein's summation: `einsum`."""

from __future__ import annotations

import string
from functools import lru_cache

from framework.core.promotion import scalar_type_name
from framework.core.tensor import Tensor
from framework.dispatch.errors import not_a_tensor
from framework.dispatch.registry import T, op
from framework.ops.contraction import arranged, contract

LETTERS = string.ascii_uppercase + string.ascii_lowercase  # what the numbers of subscript lists stand for
ELLIPSIS = "..."


# ---------------------------------------------------------------- reading the arguments
def _arguments(args):
    """(subscripts of each operand, of the result or None, operands); subscripts are tuples of letters and ELLIPSIS."""
    if not args or len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    if isinstance(args[0], str):
        operands = args[1:]
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
            operands = tuple(operands[0])
        return *_read(args[0]), operands
    operands, lists = args[0::2], args[1::2]
    if len(args) % 2:
        operands, lists = operands[:-1], (*lists, args[-1])
    found = tuple([tuple([_letter(s) for s in subscripts]) for subscripts in lists])
    return found[: len(operands)], found[-1] if len(args) % 2 else None, operands


@lru_cache(maxsize=256)
def _read(equation):
    """(subscripts of each operand, of the result or None) of an equation."""
    left, arrow, right = equation.partition("->")
    inputs, start = [], 0
    for i, part in enumerate(left.split(",")):
        inputs.append(_letters(part, start, f"for operand {i}"))
        start += len(part) + 1
    return tuple(inputs), _letters(right, len(left) + 2, "in the output") if arrow else None


def _letters(part, start, where):
    found, i = [], 0
    while i < len(part):
        c = part[i]
        if c == ".":
            if part[i : i + 3] != ELLIPSIS:
                raise RuntimeError(f"einsum(): found '.' {where} that is not part of any ellipsis")
            if ELLIPSIS in found:
                raise RuntimeError(f"einsum(): found '.' {where} for which an ellipsis was already found")
            found.append(ELLIPSIS)
            i += 2
        elif c in LETTERS:
            found.append(c)
        elif c != " ":
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {start + i} in the equation string, subscripts must be "
                "in [a-zA-Z]"
            )
        i += 1
    return tuple(found)


def _letter(subscript):
    if subscript is Ellipsis:
        return ELLIPSIS
    if not 0 <= subscript < len(LETTERS):
        raise ValueError(f"einsum(): subscript in subscript list is not within the valid range [0, {len(LETTERS)})")
    return LETTERS[subscript]


# ---------------------------------------------------------------- giving every dimension a label
def _covered(subscripts, rank, i):
    """How many dimensions of operand i its ellipsis stands for."""
    named = len([s for s in subscripts if s != ELLIPSIS])
    if ELLIPSIS not in subscripts and named != rank or named > rank:
        rest = "" if ELLIPSIS in subscripts else " and no ellipsis was given"
        more = "more than" if ELLIPSIS in subscripts else "does not match"
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({named}) {more} the number of dimensions ({rank}) "
            "for "
            f"operand {i}{rest}"
        )
    return rank - named


def _labels(subscripts, count):
    """One label a dimension: a letter, or a number for what an ellipsis covers, counted from its end so that those
    align."""
    found = []
    for s in subscripts:
        found += range(count, 0, -1) if s == ELLIPSIS else [s]
    return found


def _sizes(labels, shapes):
    """The size of each label; RuntimeError where operands do not broadcast."""
    sizes = {}
    for i, (names, shape) in enumerate(zip(labels, shapes, strict=True)):
        own = {}
        for n, size in zip(names, shape, strict=True):
            if own.setdefault(n, size) != size:
                raise RuntimeError(
                    f"einsum(): subscript {n} is repeated for operand {i} but the sizes don't match, {size} != {own[n]}"
                )
            known = sizes.get(n, 1)
            if size not in (1, known) and known != 1:
                raise RuntimeError(
                    f"einsum(): subscript {n} has size {size} for operand {i} which does not broadcast with "
                    "previously seen "
                    f"size {known}"
                )
            sizes[n] = known if size == 1 else size
    return sizes


def _result(output, labels, count):
    """The labels of the result: as given, or those of the ellipses and then, sorted, the letters that occur once."""
    every = [n for names in labels for n in names]
    if output is None:
        return list(range(count, 0, -1)) + sorted([n for n in set(every) if isinstance(n, str) and every.count(n) == 1])
    for n in output:
        if n != ELLIPSIS and output.count(n) > 1:
            raise RuntimeError(f"einsum(): output subscript {n} appears more than once in the output")
        if n != ELLIPSIS and n not in every:
            raise RuntimeError(f"einsum(): output subscript {n} does not appear in the equation for any input operand")
    return _labels(output, count)


# ---------------------------------------------------------------- computing
def _reduced(x, names, sizes, wanted):
    """An operand with one dimension a label: repeated labels by the diagonal, sizes that broadcast dropped, labels
    nobody else wants summed."""
    names = list(names)
    for n in dict.fromkeys(names):
        while names.count(n) > 1:
            i = names.index(n)
            j = names.index(n, i + 1)
            x = T.diagonal(x, 0, i, j)
            names = [m for k, m in enumerate(names) if k not in (i, j)] + [n]
    drop = [i for i, n in enumerate(names) if x.shape[i] == 1 != sizes[n]]
    if drop:
        x, names = T.squeeze(x, tuple(drop)), [n for i, n in enumerate(names) if i not in drop]
    return _summed(x, names, wanted)


def _summed(x, names, wanted):
    over = tuple([i for i, n in enumerate(names) if n not in wanted])
    return (T.sum(x, over), [n for n in names if n in wanted]) if over else (x, names)


def _path(terms, output, sizes):
    """Which of the terms, given by their labels, to contract next, step by step: opt_einsum's choice for more than
    two."""
    if len(terms) < 3:
        return [tuple(range(len(terms)))]
    from opt_einsum import contract_path, get_symbol

    symbol = {n: get_symbol(i) for i, n in enumerate(sizes)}
    inputs = ["".join([symbol[n] for n in names]) for names in terms]
    equation = f"{','.join(inputs)}->{''.join([symbol[n] for n in output])}"
    return contract_path(equation, *[tuple([sizes[n] for n in names]) for names in terms], shapes=True)[0]


@lru_cache(maxsize=256)
def _plan(inputs, output, shapes):
    """(labels of each operand, sizes, labels of the result, labels to keep, path) for operands of these shapes."""
    if len(inputs) != len(shapes):
        more = "more" if len(shapes) > len(inputs) else "fewer"
        raise RuntimeError(f"einsum(): {more} operands were provided than specified in the equation")
    counts = [_covered(s, len(shape), i) for i, (s, shape) in enumerate(zip(inputs, shapes, strict=True))]
    labels = [_labels(s, n) for s, n in zip(inputs, counts, strict=True)]
    sizes = _sizes(labels, shapes)
    result = _result(output, labels, max(counts))
    whole = [{n for n, size in zip(names, shape, strict=True) if size == sizes[n]}
             for names, shape in zip(labels, shapes, strict=True)]  # fmt: skip
    kept = {n for n in sizes if sum([n in names for names in whole]) > 1}.union(result)
    return labels, sizes, result, kept, _path([names & kept for names in whole], result, sizes)


@op(composite=True, method=False)
def einsum(*args):
    """The sum of products of operands over labelled dimensions: `einsum("bij,bjk->bik", a, b)`.

    Letters name dimensions, an ellipsis those not named; a label that the result (after `->`) lacks is summed over.
    Without `->` the result has the ellipsis and, sorted, the letters that occur once. Sizes of 1 broadcast. Also
    `einsum(a, [0, 1], b, [1, 2], [0, 2])`. More than two operands are contracted in the order that opt_einsum finds.
    RuntimeError for what does not fit.
    """
    inputs, output, operands = _arguments(args)
    for i, x in enumerate(operands):
        if not isinstance(x, Tensor):
            not_a_tensor("einsum", "operands", i, x)
    labels, sizes, result, kept, path = _plan(inputs, output, tuple([tuple(x.shape) for x in operands]))
    for x in operands:
        if x.dtype is not operands[0].dtype:
            first, other = scalar_type_name(operands[0].dtype), scalar_type_name(x.dtype)
            raise RuntimeError(f"expected scalar type {first} but found {other} (einsum)")
    terms = [_reduced(x, names, sizes, kept) for x, names in zip(operands, labels, strict=True)]
    for step in path:
        chosen = [terms[i] for i in step]
        terms = [t for i, t in enumerate(terms) if i not in step]
        elsewhere = {n for _, names in terms for n in names}.union(result)
        x, names = chosen[0]
        for k, (y, others) in enumerate(chosen[1:], 2):
            x, names = contract(x, names, y, others, elsewhere.union(*[m for _, m in chosen[k:]]))
        terms.append(_summed(x, names, elsewhere))
    x, names = terms[0]
    return arranged(x, names, result)
