"""python -m tests.benchmarks [group ...] [--json FILE] [--quick] [--threads N] [--match TEXT] [--candidate MODULE]
                           [--tuned-allocator]

Prints the time of each case as a ratio to PyTorch's where PyTorch is installed, else to raw NumPy's where the case
has a NumPy form. Below 1 is faster than the reference.
"""

import argparse
import os
import sys


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__.split("\n\n")[1])
    parser.add_argument("groups", nargs="*", metavar="group", help="all groups if none is named")
    parser.add_argument("--json", metavar="FILE", help="also write the results, as one JSON object")
    parser.add_argument("--quick", action="store_true", help="few rounds: to see that it runs, not to quote")
    parser.add_argument("--threads", type=int, default=1, help="threads of every library on both sides (default 1)")
    parser.add_argument("--match", default="", metavar="TEXT", help="only cases whose name contains TEXT")
    parser.add_argument("--candidate", default="framework", metavar="MODULE", help="what is measured")
    parser.add_argument(
        "--tuned-allocator", action="store_true", help="keep freed memory (glibc): no page faults on either side"
    )
    return parser.parse_args()


def main() -> int:
    options = arguments()
    # Read once by each library when it is loaded, so they come before every import of one.
    for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "NUMBA"):
        os.environ[f"{name}_NUM_THREADS"] = str(options.threads)

    if options.tuned_allocator and "MALLOC_MMAP_THRESHOLD_" not in os.environ:  # read when a process starts
        os.environ["MALLOC_MMAP_THRESHOLD_"] = os.environ["MALLOC_TRIM_THRESHOLD_"] = str(1 << 32)
        os.execv(sys.executable, [sys.executable, "-m", "tests.benchmarks", *sys.argv[1:]])

    from tests.benchmarks.report import run_and_print

    return run_and_print(options)


if __name__ == "__main__":
    sys.exit(main())
