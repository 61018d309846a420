"""A session for each thread: computing leaves Python's lock to the others."""
from concurrent.futures import ThreadPoolExecutor

import g4

COUNTRIES = ["Kenya", "Norway", "Italy", "Japan"]

with g4.Session(threads=1) as session:
    forks = [session.fork() for _ in COUNTRIES]  # the weights are in memory once

    def ask(fork, country):
        return fork.chat(f"What is the capital of {country}?", temperature=0).text

    with ThreadPoolExecutor() as pool:
        for answer in pool.map(ask, forks, COUNTRIES):
            print(answer)
