"""Several threads, Ctrl-C, cancelling, processes."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from conftest import KENYA, NAIROBI

import g4

COUNTRIES = ["Kenya", "Norway", "Italy", "Japan", "Egypt", "France", "Spain", "Peru", "Canada", "India"]


def in_threads(functions):
    """Runs them at once; their results, or raises what one has raised."""
    results, errors = [None] * len(functions), []

    def run(index):
        try:
            results[index] = functions[index]()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


def ask(session, country):
    prompt = session.tokenizer.tokenize_chat(f"What is the capital of {country}?")
    session.reset()
    logits = session.prefill(prompt, logits="all")
    return logits, session.chat(f"What is the capital of {country}?", temperature=0).text


def test_ten_sessions_of_one_model_in_ten_threads(session):
    expected = [ask(session, country) for country in COUNTRIES]
    assert len({text for _, text in expected}) == len(COUNTRIES) and "Nairobi" in expected[0][1]
    sessions = [session.fork() for _ in COUNTRIES]
    for _ in range(3):
        answers = in_threads([lambda s=s, c=c: ask(s, c) for s, c in zip(sessions, COUNTRIES)])
        for (logits, text), (expected_logits, expected_text) in zip(answers, expected):
            assert text == expected_text and (logits == expected_logits).all()


def test_ten_threads_open_and_close(session):
    def run():
        with g4.Session(threads=1) as own:
            return own.chat(KENYA, temperature=0).text

    assert in_threads([run] * 10) == [NAIROBI] * 10


def test_one_tokenizer_for_all_threads():
    tokenizer = g4.Tokenizer(g4.demo_model())
    texts = [f"text number {index} " * 50 for index in range(10)]
    expected = [tokenizer.tokenize(text) for text in texts]
    assert in_threads([lambda t=t: tokenizer.tokenize(t) for t in texts]) == expected


def busy(session):
    """Runs a call on the session in a thread, that waits in it: (wait until it is there, let it go on, thread)."""
    there, go_on = threading.Event(), threading.Event()

    def wait(done, total):
        there.set()
        go_on.wait(30)

    failures = []

    def run():
        try:
            session.prefill([5] * 600, progress=wait)
        except g4.Error as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert there.wait(30)
    return go_on, thread, failures


def test_a_session_serves_one_call_at_a_time(session):
    go_on, thread, failures = busy(session)
    for call in (lambda: session.prefill([5]), session.reset, session.fork, session.decode, lambda: session.position,
                 lambda: session.stats, lambda: session.logits, lambda: session.save_kv("/nowhere/x")):
        with pytest.raises(g4.StateError, match="a call is running"):
            call()
    assert "busy" in repr(session)
    assert session.tokenize("") == [2]
    go_on.set()
    thread.join()
    assert not failures and session.position == 600


def test_cancel_from_another_thread(session):
    session.cancel()  # nothing runs: nothing happens
    go_on, thread, failures = busy(session)
    session.cancel()
    go_on.set()
    thread.join()
    assert isinstance(failures[0], g4.CancelledError) and session.position == 0
    assert session.chat(KENYA, temperature=0).text == NAIROBI


def test_close_while_another_thread_computes(session):
    go_on, thread, failures = busy(session)
    session.close()
    go_on.set()
    thread.join()
    assert isinstance(failures[0], g4.CancelledError)
    with pytest.raises(g4.StateError, match="closed"):
        session.position


def test_others_run_while_a_session_computes():
    """If the call kept Python's lock, this thread would stand still from its begin to its end."""
    with g4.Session(cpu="generic", precision="f32", threads=1) as session:
        counts = []
        thread = threading.Thread(target=lambda: session.prefill([5] * 1500, logits="all"))
        thread.start()
        count = 0
        while thread.is_alive():
            count += 1
        counts.append(count)
        assert counts[0] > 1000


def test_an_interrupt_ends_a_prefill(session):
    fired = threading.Event()

    def handler(number, frame):
        fired.set()
        raise KeyboardInterrupt

    def interrupt(done, total):
        if not fired.is_set():
            os.kill(os.getpid(), signal.SIGINT)
            assert fired.wait(30)

    before = signal.signal(signal.SIGINT, handler)
    try:
        for call in (session.prefill, session.extend):
            fired.clear()
            with pytest.raises(KeyboardInterrupt):
                call([5] * 2000, progress=interrupt)
            assert session.position == 0
    finally:
        signal.signal(signal.SIGINT, before)
    assert session.chat(KENYA, temperature=0).text == NAIROBI


SIGNALS = """
import g4
session = g4.Session()
shown = 0
try:
    while True:
        session.reset()
        for piece in session.generate([5], None, stream=True, ignore_stop=True, frequency_penalty=-100.0):
            if shown < 3:
                print("running", flush=True)
            shown += 1
except KeyboardInterrupt:
    assert session.position == len(session.tokens)
    print(session.chat("What is the capital of Kenya?", temperature=0))
try:
    print("waiting", flush=True)
    while True:
        session.generate([5], 500, ignore_stop=True, frequency_penalty=-100.0)
        session.reset()
except KeyboardInterrupt:
    print(session.chat("What is the capital of Kenya?", temperature=0))
"""


def test_ctrl_c_ends_a_generation_and_the_session_goes_on():
    with subprocess.Popen([sys.executable, "-c", SIGNALS], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "running\n"
        process.send_signal(signal.SIGINT)
        line = process.stdout.readline()
        while line == "running\n":
            line = process.stdout.readline()
        assert line == NAIROBI + "\n"
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == NAIROBI + "\n"
        assert process.wait(60) == 0


FORKS = """
import os, sys
import g4
session = g4.Session(threads=2)
session.prefill([5] * 40)
child = os.fork()
if child == 0:
    try:
        session.decode()
    except g4.StateError as error:
        assert "process" in str(error)
        with g4.Session() as own:
            assert own.chat("What is the capital of Kenya?", temperature=0).text.endswith("Nairobi.")
        session.close()
        sys.exit(7)
    sys.exit(1)
_, status = os.waitpid(child, 0)
assert os.WEXITSTATUS(status) == 7, status
session.decode()
print("both")
"""


def test_a_forked_process_must_open_its_own():
    output = subprocess.run([sys.executable, "-c", FORKS], stdout=subprocess.PIPE, text=True, timeout=120, check=True)
    assert output.stdout == "both\n"


def test_the_interpreter_ends_with_sessions_open():
    code = "import g4; s = g4.Session(); f = s.fork(); i = s.chat('Hi', stream=True); next(i); s.x = s; i.y = f"
    subprocess.run([sys.executable, "-c", code], timeout=120, check=True)


def test_hooks_run_in_their_sessions_thread(session):
    sessions = [session.fork() for _ in range(4)]

    def run(own, token):
        def hook(tokens, logits):
            logits[:] = -np.inf
            logits[token] = 0

        own.prefill([5])
        stream = own.generate(max_tokens=30, logits_hook=hook, stream=True)
        stream.finish()
        return stream.tokens

    answers = in_threads([lambda s=s, t=t: run(s, t) for s, t in zip(sessions, range(100, 104))])
    assert answers == [[token] * 30 for token in range(100, 104)]
