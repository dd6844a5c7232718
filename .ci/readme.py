"""Prints a command of README.md, so that what CI and the tests run is what a reader copies: `readme.py test`.

A command is the shell block that follows a comment `<!-- command: NAME -->`.
"""

import pathlib
import re
import sys

README = pathlib.Path(__file__).resolve().parent.parent / "README.md"


def commands() -> dict[str, str]:
    """The commands of README.md by name."""
    text = README.read_text(encoding="utf-8")
    found = re.findall(r"<!-- command: ([\w-]+) -->\s*```sh\n(.*?)```", text, flags=re.DOTALL)
    return {name: command.strip() for name, command in found}


if __name__ == "__main__":
    try:
        print(commands()[sys.argv[1]])
    except (IndexError, KeyError):
        sys.exit(f"usage: readme.py NAME, where NAME is one of: {', '.join(commands())}")
