#!/usr/bin/env python3
"""Small document classifiers in PyTorch, as cases for the model's tests.

usage: make_classifier_cases.py OUTDIR     (needs torch; run by hand)

Writes classifier_NAME.safetensors: ids [B, T] (-1 is padding), lengths [B],
labels [B], vectors [V, E], the parameters under quern's names, and what they
give: logits [B], and grad.NAME, the gradient of the mean binary cross-entropy.
All in float64. Each document goes through the network by itself, without any
padding, which is what a padded batch must equal. Metadata: the settings, the
loss and how many are right.
"""
import json
import os
import struct
import sys

import torch
import torch.nn.functional as F
from torch import nn

VOCAB, EMBED, HIDDEN, LAYERS, WINDOW = 17, 5, 6, 3, 2
LENGTHS = [7, 1, 4, 9, 6]
LABELS = [1, 0, 1, 1, 0]


class QRNN(nn.Module):
    """fo-pooling over one document [T, D]; blocks z (or z+ and z-), f, o."""

    def __init__(self, width, activation):
        super().__init__()
        self.dual = activation == "drelu"
        self.conv = nn.Conv1d(width, (4 if self.dual else 3) * HIDDEN, WINDOW)

    def forward(self, x):
        padded = F.pad(x.T[None], (WINDOW - 1, 0))
        a = self.conv(padded)[0].T.split(HIDDEN, -1)
        z = F.relu(a[0]) - F.relu(a[1]) if self.dual else torch.tanh(a[0])
        f, o = torch.sigmoid(a[-2]), torch.sigmoid(a[-1])
        c, out = torch.zeros(HIDDEN), []
        for t in range(len(x)):
            c = f[t] * c + (1 - f[t]) * z[t]
            out.append(o[t] * c)
        return torch.stack(out)


class LSTM(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.lstm = nn.LSTM(width, HIDDEN)

    def forward(self, x):
        return self.lstm(x[:, None])[0][:, 0]


class Classifier(nn.Module):
    def __init__(self, cell, activation, dense):
        super().__init__()
        self.dense = dense
        widths = [EMBED + k * HIDDEN if dense else (HIDDEN if k else EMBED)
                  for k in range(LAYERS)]
        self.layers = nn.ModuleList(
            LSTM(w) if cell == "lstm" else QRNN(w, activation) for w in widths)
        self.decoder = nn.Linear(HIDDEN, 1)

    def forward(self, x):  # [T, E], one document -> its logit
        for layer in self.layers:
            out = layer(x)
            x = torch.cat([x, out], -1) if self.dense else out
        return self.decoder(out[-1])[0]


def as_quern_keeps(tensors):
    """An LSTM's two biases are one sum, under the first one's name."""
    out = {}
    for name, value in tensors.items():
        name = name.replace("_l0", "")
        if not name.endswith("bias_hh"):
            out[name] = value
    for name, value in tensors.items():
        if name.endswith("bias_hh_l0") and not name.startswith("grad."):
            out[name.replace("bias_hh_l0", "bias_ih")] += value
    return out


def save(path, tensors, meta):
    header, offset, blobs = {"__metadata__": meta}, 0, []
    for name in sorted(tensors):
        value = tensors[name].detach().contiguous()
        kind = "I64" if value.dtype == torch.int64 else "F64"
        data = value.numpy().tobytes()
        header[name] = {"dtype": kind, "shape": list(value.shape),
                        "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
        blobs.append(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def make(out, name, cell, activation, dense):
    torch.manual_seed(11)
    vectors = torch.randn(VOCAB, EMBED)
    model = Classifier(cell, activation, dense)
    documents = [torch.randint(VOCAB, (n,)) for n in LENGTHS]
    logits = torch.stack([model(vectors[d]) for d in documents])
    labels = torch.tensor(LABELS)
    loss = F.binary_cross_entropy_with_logits(logits, labels.double())
    loss.backward()
    ids = torch.full((len(LENGTHS), max(LENGTHS)), -1)
    for b, d in enumerate(documents):
        ids[b, :len(d)] = d
    tensors = {k: v.clone() for k, v in model.state_dict().items()}
    tensors.update({"grad." + k: p.grad
                    for k, p in model.named_parameters()})
    tensors = as_quern_keeps(tensors)
    tensors.update(ids=ids, lengths=torch.tensor(LENGTHS), labels=labels,
                   vectors=vectors, logits=logits)
    right = ((logits > 0) == (labels == 1)).sum().item()
    meta = {"kind": "classifier", "torch": torch.__version__, "cell": cell,
            "activation": activation, "pooling": "fo", "dense": str(dense),
            "layers": str(LAYERS), "hidden": str(HIDDEN),
            "window": str(WINDOW), "loss": repr(loss.item()),
            "correct": str(right)}
    save(os.path.join(out, f"classifier_{name}.safetensors"), tensors, meta)
    print(f"{name}: loss {loss.item():.6f}, {right} of {len(LENGTHS)} right")


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    make(sys.argv[1], "drelu", "qrnn", "drelu", False)
    make(sys.argv[1], "dense_tanh", "qrnn", "tanh", True)
    make(sys.argv[1], "lstm", "lstm", "none", False)
    make(sys.argv[1], "dense_lstm", "lstm", "none", True)
