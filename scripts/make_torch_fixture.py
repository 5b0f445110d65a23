#!/usr/bin/env python3
"""A small DReLU language model trained in PyTorch, as a case for the import.

usage: make_torch_fixture.py OUTDIR     (needs torch; run by hand)

Writes torch_lm.{train,valid,test}.txt, a text of a seeded grammar;
torch_lm.safetensors, the float32 weights under the names of a PyTorch module;
torch_lm.json, the sizes, the loss over the test text in nats per character and,
for each layer, the shares of cell states that are negative, near zero and
positive. The test text is cut into parallel streams that start from zero, as
quern evaluates. Numbers differ in the last digits between versions of PyTorch;
the files belong together.
"""
import json
import os
import random
import struct
import sys

import torch
import torch.nn.functional as F
from torch import nn

EMBED, HIDDEN, WINDOWS = 8, 24, [4, 2, 2]
BATCH, THRESHOLD = 4, 0.1
NOUNS = "river stone bird king garden letter winter horse".split()
VERBS = "finds leaves follows remembers carries".split()
PLACES = "over the hill,by night,without a word,again and again".split(",")


def make_text(rng, n_sentences):
    def phrase():
        return rng.choice(["the ", "a ", "no "]) + rng.choice(NOUNS)

    def sentence():
        words = phrase() + " " + rng.choice(VERBS) + " " + phrase()
        if rng.random() < 0.4:
            words += " " + rng.choice(PLACES)
        return words + ".\n"

    return "".join(sentence() for _ in range(n_sentences))


class Layer(nn.Module):
    """fo-pooling; blocks z+, z-, f, o; causal over its window."""

    def __init__(self, width, hidden, window):
        super().__init__()
        self.conv = nn.Conv1d(width, 4 * hidden, window)
        self.window = window

    def forward(self, x):  # [B, T, D] -> h, c [B, T, H]
        padded = F.pad(x.transpose(1, 2), (self.window - 1, 0))
        gates = self.conv(padded).transpose(1, 2).chunk(4, -1)
        z = F.relu(gates[0]) - F.relu(gates[1])
        f, o = torch.sigmoid(gates[2]), torch.sigmoid(gates[3])
        c, states = torch.zeros_like(z[:, 0]), []
        for t in range(x.shape[1]):
            c = f[:, t] * c + (1 - f[:, t]) * z[:, t]
            states.append(c)
        c = torch.stack(states, 1)
        return o * c, c


class Model(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        widths = [EMBED] + [HIDDEN] * (len(WINDOWS) - 1)
        self.embedding = nn.Embedding(vocab, EMBED)
        self.layers = nn.ModuleList(
            Layer(d, HIDDEN, n) for d, n in zip(widths, WINDOWS))
        self.decoder = nn.Linear(HIDDEN, vocab)

    def forward(self, ids):  # [B, T] -> logits, cell states by layer
        x, cells = self.embedding(ids), []
        for layer in self.layers:
            x, c = layer(x)
            cells.append(c)
        return self.decoder(x), cells


def train(model, ids, steps=400, batch=16, length=48):
    optimiser = torch.optim.Adam(model.parameters(), 0.01)
    for _ in range(steps):
        starts = torch.randint(len(ids) - length - 1, (batch, 1))
        piece = ids[starts + torch.arange(length + 1)]
        logits, _ = model(piece[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), piece[:, 1:].flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return loss.item()


def evaluate(model, ids):
    """Loss and shares over streams of ceil(pairs / BATCH), the last shorter."""
    pairs = len(ids) - 1
    stream = -(-pairs // BATCH)
    total, cells = 0.0, [[] for _ in WINDOWS]
    with torch.no_grad():
        for start in range(0, pairs, stream):
            end = min(start + stream, pairs)
            logits, states = model(ids[None, start:end])
            total += F.cross_entropy(logits[0].double(),
                                     ids[start + 1:end + 1],
                                     reduction="sum").item()
            for k, c in enumerate(states):
                cells[k].append(c[0])
    shares = []
    for c in map(torch.cat, cells):
        shares.append({
            "negative": (c <= -THRESHOLD).double().mean().item(),
            "near": (c.abs() < THRESHOLD).double().mean().item(),
            "positive": (c >= THRESHOLD).double().mean().item()})
    return total / pairs, shares


def save(path, tensors):
    header, offset, blobs = {}, 0, []
    for name in sorted(tensors):
        data = tensors[name].detach().contiguous().numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensors[name].shape),
                        "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
        blobs.append(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def main(out):
    rng = random.Random(7)
    torch.manual_seed(7)
    texts = {"train": make_text(rng, 400), "valid": make_text(rng, 30),
             "test": make_text(rng, 60)}
    for split, text in texts.items():
        with open(os.path.join(out, f"torch_lm.{split}.txt"), "w") as file:
            file.write(text)
    vocab = {c: i for i, c in enumerate(dict.fromkeys(texts["train"]))}
    ids = {s: torch.tensor([vocab[c] for c in t]) for s, t in texts.items()}
    model = Model(len(vocab))
    train_loss = train(model, ids["train"])
    loss, shares = evaluate(model, ids["test"])
    save(os.path.join(out, "torch_lm.safetensors"), model.state_dict())
    case = {"torch": torch.__version__, "vocab": len(vocab), "embed": EMBED,
            "hidden": HIDDEN, "layers": len(WINDOWS), "window": WINDOWS,
            "activation": "drelu", "pooling": "fo", "eval_batch": BATCH,
            "predictions": len(ids["test"]) - 1, "threshold": THRESHOLD,
            "loss": loss, "shares": shares}
    with open(os.path.join(out, "torch_lm.json"), "w") as file:
        json.dump(case, file, indent=1)
        file.write("\n")
    print(f"train loss {train_loss:.4f}, test loss {loss:.4f}")


if __name__ == "__main__":
    main(sys.argv[1])
