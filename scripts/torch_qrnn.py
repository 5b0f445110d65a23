"""The networks of quern's ptb-char presets as a PyTorch user would write them.

Trains on random symbols and prints what a step takes, to be compared with
`quern bench` (scripts/bench-torch runs both in turn): embedding, QRNN layers
with windows of 6 and then 2 and fo-pooling, or nn.LSTM, dropout between layers,
softmax cross-entropy, gradients clipped at a norm of 5, Adam. Of batch
normalisation only what training does is here.

The recurrence of a QRNN is a loop over time, which PyTorch runs as some five
small operations a step; --jit has TorchScript compile that loop.
"""
import argparse
import json
import re
import time

import torch
from torch import nn
from torch.nn import functional as F


def fo_pool(z, f, o, c):
    """c[t] = f c[t-1] + (1-f) z, h[t] = o c[t]; all [T, B, H], c [B, H]."""
    cells = []
    for t in range(z.shape[0]):
        c = f[t] * c + (1 - f[t]) * z[t]
        cells.append(c)
    return torch.stack(cells) * o


class QRNN(nn.Module):
    def __init__(self, inputs, hidden, window, act, batch_norm, pool):
        super().__init__()
        self.hidden, self.window, self.act, self.pool = hidden, window, act, pool
        self.candidates = 2 if act in ("drelu", "delu") else 1
        gates = (2 + self.candidates) * hidden
        self.linear = nn.Linear(window * inputs, gates, bias=not batch_norm)
        self.norm = nn.BatchNorm1d(gates) if batch_norm else None

    def candidate(self, z):
        if self.act == "tanh":
            return torch.tanh(z[0])
        if self.act == "relu":
            return F.relu(z[0])
        if self.act == "drelu":
            return F.relu(z[0]) - F.relu(z[1])
        return F.elu(z[0], 0.1) - F.elu(z[1], 0.1)

    def forward(self, x):
        steps, batch, inputs = x.shape
        past = x.new_zeros(self.window - 1, batch, inputs)
        padded = torch.cat([past, x])
        windows = torch.cat([padded[i : i + steps] for i in range(self.window)], -1)
        a = self.linear(windows)
        if self.norm is not None:
            a = self.norm(a.view(steps * batch, -1)).view(steps, batch, -1)
        f, o, *z = a.split(self.hidden, -1)
        start = x.new_zeros(batch, self.hidden)
        return self.pool(self.candidate(z), torch.sigmoid(f), torch.sigmoid(o), start)


class LanguageModel(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.embed = nn.Embedding(a.vocab, a.emb)
        self.drop = nn.Dropout(a.dropout)
        self.layers = nn.ModuleList()
        pool = torch.jit.script(fo_pool) if a.jit else fo_pool
        if a.cell == "lstm":
            self.lstm = nn.LSTM(a.emb, a.hidden, a.layers, dropout=a.dropout)
        else:
            for i in range(a.layers):
                inputs, window = (a.hidden, 2) if i else (a.emb, 6)
                self.layers.append(
                    QRNN(inputs, a.hidden, window, a.act, a.bn, pool)
                )
        self.decoder = nn.Linear(a.hidden, a.vocab)

    def forward(self, symbols):
        x = self.embed(symbols)
        if not self.layers:
            x = self.drop(self.lstm(x)[0])
        for layer in self.layers:
            x = self.drop(layer(x))
        return self.decoder(x)


def train_step(model, optimizer, a):
    """Seconds of one step, random symbols made before the clock starts."""
    x = torch.randint(a.vocab, (a.seq + 1, a.batch))
    start = time.perf_counter()
    optimizer.zero_grad()
    logits = model(x[:-1]).reshape(-1, a.vocab)
    F.cross_entropy(logits, x[1:].reshape(-1)).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    return time.perf_counter() - start


def blas():
    """What multiplies: a library that is part of torch, or the system's."""
    part = re.search(r"BLAS_INFO=(\w+)", torch.__config__.show())
    if part and part[1] != "generic":
        return part[1]
    with open("/proc/self/maps", encoding="utf-8") as maps:
        found = re.search(r"/lib((?:openblas|blis|mkl_rt|atlas)[^/\n]*)\.so", maps.read())
    return found[1] if found else "unknown BLAS"


def options():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    numbers = dict(layers=4, hidden=250, batch=128, seq=100, vocab=49, emb=50)
    numbers.update(steps=5, warmup=2, threads=2)
    for name, value in numbers.items():
        p.add_argument("--" + name, type=int, default=value)
    p.add_argument("--dropout", type=float, default=0.15)
    p.add_argument("--cell", choices=["qrnn", "lstm"], default="qrnn")
    p.add_argument(
        "--act", choices=["tanh", "relu", "drelu", "delu"], default="drelu"
    )
    p.add_argument("--bn", action="store_true", help="batch normalisation")
    p.add_argument("--jit", action="store_true", help="TorchScript for pooling")
    p.add_argument("--compile", action="store_true", help="torch.compile")
    p.add_argument("--json", action="store_true")
    return p.parse_args()


def main():
    a = options()
    torch.set_num_threads(a.threads)
    model = LanguageModel(a)
    step_of = torch.compile(model) if a.compile else model
    optimizer = torch.optim.Adam(model.parameters(), 3e-4)
    for _ in range(a.warmup):
        train_step(step_of, optimizer, a)
    seconds = sorted(train_step(step_of, optimizer, a) for _ in range(a.steps))
    symbols = a.batch * a.seq
    result = {
        "torch": torch.__version__,
        "blas": blas(),
        "parameters": sum(p.numel() for p in model.parameters()),
        "tokens_per_s": symbols / seconds[0],
        "median_tokens_per_s": symbols / seconds[len(seconds) // 2],
    }
    if a.json:
        print(json.dumps(result))
    else:
        print(
            "torch {torch} ({blas}): {parameters} parameters, {tokens_per_s:.0f} tokens/s"
            " in the best step, {median_tokens_per_s:.0f} in the median".format(**result)
        )


main()
