"""GPT-2 small's training step in PyTorch on the CPU, beside bench_training: torch_training.py THREADS

The same model and batch (4 sequences of 512 tokens, fp32, AdamW, no dropout, no clipping), written for speed:
one product for queries, keys and values, a mask that is made once and added (faster than masked_fill and baddbmm),
gradients set to none. Each batch is new: on one that is seen again and again, gradients die away into denormals.
After a warm-up of three steps, in which the allocator keeps what it once took, one step for each line of input.
"""

import math
import pathlib
import re
import resource
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

LAYERS, WIDTH, HEADS, VOCABULARY, BATCH, LENGTH = 12, 768, 12, 50257, 4, 512
WARM_UP = 3


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm = nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.projection = nn.Linear(WIDTH, WIDTH)
        self.mlp_norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def attention(self, x, mask):
        def heads(part):  # [batch, heads, tokens, head width]
            return part.view(BATCH, LENGTH, HEADS, -1).transpose(1, 2)

        q, k, v = (heads(part) for part in self.qkv(x).split(WIDTH, dim=2))
        scores = (q / math.sqrt(WIDTH // HEADS)) @ k.transpose(-2, -1) + mask
        y = (F.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(BATCH, LENGTH, WIDTH)
        return self.projection(y)

    def forward(self, x, mask):
        x = x + self.attention(self.attention_norm(x), mask)
        return x + self.down(F.gelu(self.up(self.mlp_norm(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(1024, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)
        self.register_buffer("mask", torch.full((LENGTH, LENGTH), float("-inf")).triu(diagonal=1))

    def forward(self, tokens, targets):
        x = self.tokens(tokens) + self.positions.weight[:LENGTH]
        for block in self.blocks:
            x = block(x, self.mask)
        logits = F.linear(self.norm(x), self.tokens.weight)
        return F.cross_entropy(logits.view(-1, VOCABULARY), targets.view(-1))


def about():
    """PyTorch, and the library that multiplies its matrices."""
    libraries = set(re.findall(r"lib(?:openblas|mkl|blis)[^/\s]*", pathlib.Path("/proc/self/maps").read_text()))
    return f"PyTorch {torch.__version__} with {', '.join(sorted(libraries)) or 'no fast BLAS (install libopenblas0-pthread)'}"


def main():
    threads = int(sys.argv[1])
    torch.set_flush_denormal(True)  # before the first thread of a team begins, which inherits it
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    model = Gpt2()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01)

    def step():
        batch = torch.randint(0, VOCABULARY, (BATCH, LENGTH + 1))
        tokens, targets = batch[:, :-1].contiguous(), batch[:, 1:].contiguous()
        loss = model(tokens, targets)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss.item()

    for _ in range(WARM_UP):
        step()
    print(about(), flush=True)
    for _ in sys.stdin:
        before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
        loss = step()
        wall = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_SELF)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        faults = after.ru_minflt - before.ru_minflt
        print(f"step {wall:.4f} s, processor {cpu:.4f} s, loss {loss:.4f}, page faults {faults}", flush=True)


main()
