"""The examples, the notebook and the snippets of the documents do what they say."""

import base64
import os
import re
import subprocess
import sys

import pytest
from conftest import NAIROBI, SOURCE

EXAMPLES = SOURCE / "examples" / "python"
SAYS = {
    "chat": [NAIROBI, "Oslo", "were there already"],
    "errors": ["FileError", "missing.gguf", "ContextFullError", NAIROBI],
    "fork": ["0: ", "1: ", "2: "],
    "json_answer": ["Tom is 12"],
    "keep_kv": ["bytes for", "positions restored"],
    "logits": ["' of' 100%", "' N' "],
    "logits_hook": [" "],
    "media_rows": ["float32 (64, 128)", "(75, 2048) logits"],
    "prompt_cache": ["0 positions were there, 1294 evaluated", "1292 positions were there, 2 evaluated"],
    "readme": ["Nairobi", "positions are back"],
    "see_and_hear": ["A red circle on a dark blue background.", "The shape is a circle.", "as 25 tokens, from 0.0 to 1.0 s",
                     "A steady tone with a high pitch."],
    "stream": ["fox", "tokens, stop)"],
    "threads": [NAIROBI, "Tokyo"],
    "tools": ["the model calls add {'a': 214, 'b': 392}", "606"],
}
NEEDS = {"json_answer": ["llguidance"], "see_and_hear": ["PIL"]}


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.py")))
def test_example(name, tmp_path):
    for package in NEEDS.get(name, ()):
        pytest.importorskip(package)
    result = subprocess.run([sys.executable, EXAMPLES / f"{name}.py"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, cwd=tmp_path, timeout=120)
    assert result.returncode == 0, result.stdout
    for words in SAYS[name]:
        assert words in result.stdout


def test_the_notebook(tmp_path):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("matplotlib")
    notebook = nbformat.read(EXAMPLES / "tour.ipynb", as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        assert not cell.get("outputs"), "tour.ipynb is kept without outputs"
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    pictures = [base64.b64decode(output["data"]["image/png"]) for output in outputs if "image/png" in output.get("data", {})]
    assert len(pictures) == 3 and all(picture[:4] == b"\x89PNG" and len(picture) > 2000 for picture in pictures)
    text = "".join(output.get("text", "") for output in outputs)
    assert "Oslo" in text and "the same logits: True" in text and "positions back in a new session" in text
    assert "A red circle on a dark blue background." in text and "A steady tone with a high pitch." in text
    if "G4_TEST_KEEP" in os.environ:
        nbformat.write(notebook, os.path.join(os.environ["G4_TEST_KEEP"], "tour.ipynb"))


@pytest.mark.parametrize("document", ["docs/PYTHON.md", "docs/MEDIA.md", "bindings/python/README.md", "README.md"])
def test_snippets_are_cut_from_the_examples(document):
    snippets = re.findall(r"<!-- (examples/python/\S+) -->\n```python\n(.*?)```", (SOURCE / document).read_text(), re.DOTALL)
    assert snippets
    for path, snippet in snippets:
        assert snippet in (SOURCE / path).read_text(), f"a snippet of {document} is not in {path}"
    blocks = (SOURCE / document).read_text().count("```python\n")
    assert blocks == len(snippets), f"{document} has Python that comes from no example"
