"""Shared by the tests: the demo model, opened once, and the reference models that the build of g4 has unpacked."""

import os
import pathlib

import pytest

import g4

SOURCE = pathlib.Path(__file__).resolve().parents[3]
KENYA = "What is the capital of Kenya?"
NAIROBI = "The capital of Kenya is Nairobi."


@pytest.fixture(scope="session")
def demo():
    """The demo model at position 0; tests take forks of it."""
    return g4.Session()


@pytest.fixture
def session(demo):
    with demo.fork() as session:
        yield session


@pytest.fixture(scope="session")
def goldens():
    """The folder of the reference models."""
    folder = pathlib.Path(os.environ.get("G4_TEST_GOLDEN_DIR", SOURCE / "build" / "release" / "golden"))
    if not (folder / "complete").exists():
        pytest.skip(f"no reference models at {folder}")
    return folder
