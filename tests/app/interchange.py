"""Exports of small runs, read by PyTorch and by TensorBoard itself.

usage: interchange.py torch|tensorboard QUERN DOC

torch: the code in DOC, docs/interchange.md, loads networks of all kinds and
finds the loss of `quern eval`. tensorboard: its reader gives back the numbers
of the run's own lines. Exit status 77 when a package is missing.
"""
import calendar
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile
import time

# Single floats on both sides; losses are between 1 and 4.
LOSS_TOLERANCE = 1e-5

KINDS = {
    "drelu": "model.window=3,2",
    "norm": "model.activation=delu model.pooling=ifo model.batch_norm=true",
    "norm-relu": "model.activation=relu model.batch_norm=true",
    "dense": "model.activation=tanh model.pooling=f model.dense=true model.layers=3",
    "elu": "model.activation=elu model.alpha=0.3",
    "lstm": "model.cell=lstm",
    "lstm-dense": "model.cell=lstm model.dense=true",
}


def make_text(seed, sentences):
    rng = random.Random(seed)
    nouns = "river stone bird king garden\tletter winter horse".split(" ")
    verbs = "finds leaves follows".split()
    return "".join("the %s %s a %s \\ ~.\n" % (rng.choice(nouns), rng.choice(verbs),
                                             rng.choice(nouns))
                   for _ in range(sentences))


def make_documents(folder, n):
    """Labelled ones in folder/docs, and vectors of some of their words."""
    rng = random.Random(4)
    words = {"pos": "good fine dear the a".split(), "neg": "bad dull slow the a".split()}
    for label, own in words.items():
        os.makedirs(f"{folder}/docs/{label}")
        for i in range(n):
            with open(f"{folder}/docs/{label}/{i}.txt", "w", encoding="utf-8") as file:
                file.write(" ".join(rng.choices(own, k=rng.randint(3, 9))))
    with open(f"{folder}/vectors.txt", "w", encoding="utf-8") as file:
        for word in sorted(set(words["pos"] + words["neg"]) - {"slow"}):
            file.write(word + "".join(" %.3f" % rng.gauss(0, 1) for _ in range(7)) + "\n")


class Program:
    def __init__(self, path, folder):
        self.path, self.folder = path, folder
        for name, seed, n in ("train", 1, 120), ("valid", 2, 10), ("test", 3, 12):
            with open(f"{folder}/{name}.txt", "w", encoding="utf-8") as file:
                file.write(make_text(seed, n))

    def __call__(self, *words):
        return subprocess.run([self.path, "--store", f"{self.folder}/store", *words],
                              check=True, stdout=subprocess.PIPE, cwd=self.folder,
                              text=True).stdout

    def train(self, name, *settings):
        self("train", f"name={name}", "data.train=train.txt", "data.valid=valid.txt",
             "data.test=test.txt", "batch=4", "seq=16", "threads=2", "model.hidden=16",
             "model.embed=7", "optim.lr=0.01", *settings)

    def export(self, name):
        out = json.loads(self("export", name, "--to", f"out/{name}", "--json"))
        return f"{self.folder}/out/{name}", out


def check_torch(quern, doc):
    import safetensors.torch  # noqa: F401, the code of the page wants it
    import torch
    with open(doc, encoding="utf-8") as file:
        code = re.findall(r"```python\n(.*?)```", file.read(), re.S)
    page = {}
    for block in code:
        exec(compile(block, doc, "exec"), page)
    torch.set_num_threads(1)
    with open(f"{quern.folder}/test.txt", encoding="utf-8") as file:
        text = file.read()
    for name, settings in KINDS.items():
        quern.train(name, "steps=60", "checkpoint.every=60", *settings.split())
        ours = json.loads(quern("eval", name, "--split", "test", "eval.batch=1", "--json"))
        folder, _ = quern.export(name)
        ids = page["vocabulary"](folder)
        theirs = page["loss"](page["Network"](folder),
                              torch.tensor([ids[c] for c in text]))
        print(f"{name}: {ours['loss']} here, {theirs} in PyTorch")
        assert abs(ours["loss"] - theirs) <= LOSS_TOLERANCE, name
        # Weights that have learnt nothing would say little.
        assert ours["loss"] < 0.95 * math.log(len(ids)), name
    make_documents(quern.folder, 40)
    check_classifier(quern, page, [])
    check_classifier(quern, page, ["data.vectors=vectors.txt"])


def check_classifier(quern, page, vectors):
    """A probability for each text, from words that are known."""
    import torch
    name = "classifier" + str(len(vectors))
    quern("train", f"name={name}", "task=classify", "data.train=docs", "steps=30",
          "batch=8", "threads=2", "model.hidden=12", "model.activation=drelu",
          "optim.lr=0.01", "model.embed=7", *vectors)
    texts = ["good a fine the", "dull", "the a bad dear dull a"]
    with open(f"{quern.folder}/texts", "w", encoding="utf-8") as file:
        file.write("\n".join(texts) + "\n")
    ours = [json.loads(line) for line in
            quern("eval", name, "--text", "texts", "--json").splitlines()]
    folder, _ = quern.export(name)
    network, ids = page["Network"](folder), page["vocabulary"](folder)
    assert os.path.exists(f"{folder}/vectors.safetensors") == bool(vectors)
    for text, line in zip(texts, ours):
        with torch.no_grad():
            words = torch.tensor([[ids[word] for word in text.split()]])
            theirs = torch.sigmoid(network(words)[:, -1, 0]).item()
        print(f"{name}: {line['probability']} here, {theirs} in PyTorch")
        assert abs(line["probability"] - theirs) <= LOSS_TOLERANCE, text
    assert ours[0]["probability"] - ours[1]["probability"] > 0.02


def lines_of(folder, name, event):
    with open(f"{folder}/{name}.jsonl", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    return [line for line in lines if line.get("event") == event]


def start_of(run):
    return calendar.timegm(time.strptime(run[:16], "%Y%m%dT%H%M%SZ"))


def edge(i):
    return 10 ** (-5 + i / 16)


def buckets_of(bins, entry):
    """{(left, right): count} of the bins that hold anything, from run-format.md."""
    found = {(0.0, 0.0): entry["n_zero"]} if entry["n_zero"] else {}
    for i, n in bins["positive"]:
        found[0 if i == 0 else edge(i - 1), edge(i)] = n
    for i, n in bins["negative"]:
        found[-edge(i), 0 if i == 0 else -edge(i - 1)] = n
    return found


def check_scalars(read, lines, group, key, times):
    """Values are single floats there."""
    wanted = [(line["step"], line[key]) for line in lines]
    got = read(f"{group}/{key}")
    assert [step for step, _, _ in got] == [step for step, _ in wanted]
    for (step, wall, value), (_, number) in zip(got, wanted):
        assert abs(float(value) - number) <= 1e-6 * abs(number), (key, step)
        assert abs(wall - times[step]) < 1e-5, (key, step)


def check_histogram(got, wanted, entry):
    """Edges are single floats in TensorBoard's table, and in quern's bins."""
    used = [bucket for bucket in got if bucket[2] > 0]
    assert len(used) == len(wanted)
    for (left, right, n), (edges, count) in zip(used, sorted(wanted.items())):
        assert n == count
        assert abs(left - edges[0]) <= 1e-6 * abs(edges[0])
        assert abs(right - edges[1]) <= 1e-6 * abs(edges[1])
    assert sum(bucket[2] for bucket in used) == entry["count"] - entry["n_nan"]
    for before, after in zip(got, got[1:]):
        assert before[1] == after[0]


def check_histograms(read, lines, times):
    series = {}
    for line in lines:
        for entry, bins in zip(line["layers"], line["bins"]):
            series.setdefault("%s/layer %d" % (entry["of"], entry["layer"]), []).append(
                (line["step"], buckets_of(bins, entry), entry))
    assert len(series) == 6
    edges = [e for wanted in series.values() for _, found, _ in wanted for e in found]
    assert min(edges)[0] < 0 < max(edges)[1] and (0, 0) in edges
    for tag, wanted in series.items():
        got = read(tag)
        assert [step for step, _, _ in got] == [step for step, _, _ in wanted], tag
        for (step, wall, table), (_, buckets, entry) in zip(got, wanted):
            assert abs(wall - times[step]) < 1e-5, (tag, step)
            check_histogram(table.tolist(), buckets, entry)
    return list(series)


def check_tensorboard(quern, _):
    from tensorboard.backend.event_processing import plugin_event_accumulator
    from tensorboard.util import tensor_util
    quern.train("t", "steps=40", "stats.every=10", "stats.of=c,z,f", "eval.every=20",
                "model.activation=drelu")
    folder, out = quern.export("t")
    for path in out["files"]:
        assert os.path.exists(f"{quern.folder}/{path}")
    events = plugin_event_accumulator.EventAccumulator(
        folder, tensor_size_guidance={"scalars": 0, "histograms": 0})
    events.Reload()

    def read(tag):
        return [(e.step, e.wall_time, tensor_util.make_ndarray(e.tensor_proto))
                for e in events.Tensors(tag)]

    steps = lines_of(folder, "metrics", "step")
    evals = lines_of(folder, "metrics", "eval")
    times = {line["step"]: start_of(out["run"]) + line["seconds"] for line in steps}
    tags = []
    for group, lines, keys in (("train", steps, "loss lr grad_norm tokens_per_s"),
                               ("valid", evals, "loss bpc")):
        for key in keys.split():
            check_scalars(read, lines, group, key, times)
            tags.append(f"{group}/{key}")
    tags += check_histograms(read, lines_of(folder, "stats", "stats"), times)
    assert sorted(events.Tags()["tensors"]) == sorted(tags)
    assert len(steps) == 40 and len(evals) >= 2
    print("%d tags are the same" % len(tags))


def main(what, quern, doc):
    check = {"torch": check_torch, "tensorboard": check_tensorboard}[what]
    with tempfile.TemporaryDirectory(prefix="quern-interchange-") as folder:
        try:
            check(Program(os.path.abspath(quern), folder), doc)
        except ModuleNotFoundError as missing:
            print(f"skipped: {missing}")
            return 77
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
