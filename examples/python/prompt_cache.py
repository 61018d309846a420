"""Finds prompts again in a folder, by content: in this program's next run, or in another process."""
import tempfile

import g4

NOTES = "\n".join(f"Note {number}: the box with number {number} is in room {number * 7 % 50}." for number in range(60))

with tempfile.TemporaryDirectory() as folder:  # yours would stay
    for question in ("\nNote 60:", "\nNote 61:"):
        with g4.Session() as session:
            prompt = session.tokenize(NOTES + question)
            reused = session.extend(prompt, cache=folder)
            print(f"{reused} positions were there, {len(prompt) - reused} evaluated")
