"""usage: bench_torch.py SCRIPT FOLDER - scripts/bench-torch with programs that
only say how fast they are: what it runs, and the table that it makes."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import sys

QUERN = """#!/bin/sh
echo "quern $*" >>{log}
echo "OPENBLAS ${{OPENBLAS_CORETYPE-none}}" >>{log}
echo '{{"blas_kernel":"Zen","train":[{{"tokens_per_s":300}}]}}'
"""
PYTHON = """#!/bin/sh
test "$1" = -c && {{ echo 9.9; exit; }}
echo "torch $*" >>{log}
case $* in *--jit*) n=120 ;; *) n=50 ;; esac
echo "{{\\"tokens_per_s\\":$n,\\"blas\\":\\"mkl\\"}}"
"""


def program(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text.format(log=os.path.join(folder, "log")))
    os.chmod(path, 0o755)
    return path


def load(script):
    loader = importlib.machinery.SourceFileLoader("bench_torch", script)
    spec = importlib.util.spec_from_loader("bench_torch", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def run(module, arguments):
    """The exit status and all that was said."""
    sys.argv = ["bench-torch", *arguments]
    said = io.StringIO()
    status = 0
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            module.main()
        except SystemExit as stop:
            status = stop.code
    return status, said.getvalue()


def without_torch_it_says_so(module, folder):
    module.USUAL = [os.path.join(folder, "missing")]
    status, said = run(module, ["--quern", "/bin/true"])
    assert status == 1 and "no python3 here can import torch" in said, said


def a_missing_quern_is_said_before_anything_runs(module, folder):
    missing = os.path.join(folder, "nowhere")
    status, said = run(module, ["--quern", missing])
    assert status == 2 and f"no program '{missing}'" in said, said


def a_named_one_without_torch_is_a_failure(module, folder):
    status, said = run(module, ["--quern", "/bin/true", "/bin/false"])
    assert status == 1 and "/bin/false cannot import torch" in said, said


def both_take_turns_and_the_faster_way_counts(module, folder):
    module.USUAL = []
    quern = program(folder, "quern", QUERN)
    python = program(folder, "python", PYTHON)
    status, said = run(module, ["--rounds=2", "--threads=7", f"--quern={quern}", python])
    assert status == 0, said
    rows = [line.split() for line in said.splitlines()]
    ways = [r for r in rows if r and r[0] == "torch"]
    assert len(ways) == 4, said
    assert ways[0][-4:] == ["--jit", "120", "0%", "2.50"], said
    assert ways[2][-3:] == ["50", "0%", "6.00"], said  # an LSTM has one way
    assert sum("openblas Zen" in line for line in said.splitlines()) == 4, said
    with open(os.path.join(folder, "log"), encoding="utf-8") as f:
        log = f.read().splitlines()
    kinds = [line.split()[0] for line in log if not line.startswith("OPENBLAS")]
    # The slow way is left out of the second round.
    assert kinds[:6] == ["quern", "torch", "torch"] + ["quern", "torch"] + [
        "quern"
    ], kinds
    assert all("threads=7" in line for line in log if line.startswith("q")), log
    assert all("--threads=7" in line for line in log if line.startswith("t")), log
    assert "OPENBLAS none" in log and "OPENBLAS Haswell" not in log, log


def one_shape_can_be_had_alone(module, folder):
    module.USUAL = []
    quern = program(folder, "quern", QUERN)
    python = program(folder, "python", PYTHON)
    options = [f"--quern={quern}", "--rounds=1"]
    status, said = run(module, [*options, "--only=LSTM 4x256", python])
    assert status == 0 and "LSTM 4x256" in said and "4x250" not in said, said
    status, said = run(module, [*options, "--only=LTSM", python])
    assert status == 2 and "--only is 'LTSM'" in said, said


def main():
    script, folder = sys.argv[1:]
    os.environ["OPENBLAS_CORETYPE"] = "Haswell"
    module = load(script)
    without_torch_it_says_so(module, folder)
    a_missing_quern_is_said_before_anything_runs(module, folder)
    a_named_one_without_torch_is_a_failure(module, folder)
    both_take_turns_and_the_faster_way_counts(module, folder)
    one_shape_can_be_had_alone(module, folder)


main()
