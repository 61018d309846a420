"""Saves what was computed for a long prompt, and takes it up again in another session."""
import os
import tempfile

import g4

NOTES = "\n".join(f"Note {number}: the box with number {number} is in room {number * 7 % 50}." for number in range(60))

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "notes.g4kv")
    with g4.Session() as session:
        prompt = session.tokenize(NOTES)
        session.prefill(prompt, logits="none")
        print(f"{session.save_kv(path):,} bytes for {session.position} positions")
    print(g4.probe_kv(path)["positions"], "positions, says the file's header")

    with g4.Session() as session:
        prompt = session.tokenize(NOTES + "\nNote 60:")
        restored = session.load_kv(path, prompt)  # what prompt and file have in common
        session.prefill(prompt[restored:])
        print(f"{restored} positions restored, {len(prompt) - restored} evaluated")
