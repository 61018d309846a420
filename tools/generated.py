"""What the generators share: write a file made from g4.h, or with --check tell whether it is up to date."""
import os
import sys

import g4_header


def finish(texts):
    """texts: {path from the root of the repository: text}. Ends the program; 1 if --check finds a file that differs."""
    differs = False
    for name, text in texts.items():
        path = os.path.join(g4_header.ROOT, *name.split("/"))
        if "--check" not in sys.argv[1:]:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            continue
        try:
            with open(path, encoding="utf-8") as file:
                same = file.read() == text
        except OSError:
            same = False
        if not same:
            differs = True
            print(f"{name} is not what g4.h gives: run tools/{os.path.basename(sys.argv[0])}")
    sys.exit(1 if differs else 0)
