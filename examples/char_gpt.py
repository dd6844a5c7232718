"""Train a small GPT to write like Python's own reference manual, character by character, on any device.

    python examples/char_gpt.py --device cpu        # or mlx:cpu, mps, cuda, auto

The text is what Python's `help()` shows about the language; it comes with Python. Shows the progress, prints some
text that the model writes, saves the loss curve in examples/output, and prints the loss on text it has not seen last.
"""

from __future__ import annotations

import argparse
import importlib
import math
import sys
from pathlib import Path

import framework as torch
from framework import nn
from framework.nn import functional as F

try:
    import matplotlib
    import matplotlib.pyplot as plt
    from tqdm import tqdm
except ImportError as error:
    sys.exit(f"char_gpt needs {error.name}: pip install 'framework[examples]'")

matplotlib.use("Agg")  # pictures go to files; no window is needed

CONTEXT = 64  # how many characters the model sees
WIDTH, HEADS, BLOCKS = 64, 4, 2
CHARACTERS = "\n" + "".join(map(chr, range(32, 127)))  # the rest of Unicode becomes a blank


def load() -> tuple[torch.Tensor, torch.Tensor]:
    """The text as numbers of characters: nine tenths to train on, one to test on."""
    topics = importlib.import_module("pydoc_data.topics").topics
    number = {c: i for i, c in enumerate(CHARACTERS)}
    text = torch.tensor([number.get(c, number[" "]) for name in sorted(topics) for c in topics[name]])
    split = len(text) * 9 // 10
    return text[:split], text[split:]


class Block(nn.Module):
    """Attention to earlier characters, then two layers at each; both add to what comes in (norms first, like GPT-2)."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.mix = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def attention(self, x):
        """Each character's mean of the earlier ones' values, weighted by softmax(q k / sqrt(d))."""
        n, length, _ = x.shape
        q, k, v = self.qkv(x).view(n, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4).unbind(0)
        scores = q @ k.transpose(-2, -1) / math.sqrt(WIDTH // HEADS)
        later = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        weights = scores.masked_fill(later, -math.inf).softmax(dim=-1)
        return self.mix((weights @ v).transpose(1, 2).reshape(n, length, WIDTH))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """Numbers of characters (n, length) to scores of the character that follows each: (n, length, characters)."""

    def __init__(self) -> None:
        super().__init__()
        self.character = nn.Embedding(len(CHARACTERS), WIDTH)
        self.position = nn.Parameter(0.02 * torch.randn(CONTEXT, WIDTH))
        self.blocks = nn.Sequential(*[Block() for _ in range(BLOCKS)])
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, len(CHARACTERS))

    def forward(self, text):
        x = self.character(text) + self.position[: text.shape[1]]
        return self.head(self.norm(self.blocks(x)))


def loss_on(model: nn.Module, text, device, batch_size: int = 24):
    """Cross-entropy, in nats a character, on pieces of the text drawn at random."""
    start = torch.randint(len(text) - CONTEXT, (batch_size, 1))
    pieces = text[start + torch.arange(CONTEXT + 1)].to(device)
    return F.cross_entropy(model(pieces[:, :-1]).flatten(0, 1), pieces[:, 1:].flatten())


def train(model: nn.Module, text, device, steps: int) -> list[float]:
    """AdamW with a rate that rises for 50 steps and then falls along a cosine; returns the loss of every step."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    rate = lambda step: min(1, (step + 1) / 50) * 0.5 * (1 + math.cos(math.pi * step / steps))
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    losses: list[float] = []
    for _ in (bar := tqdm(range(steps), desc=f"training on {device}", unit="step")):
        loss = loss_on(model, text, device)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        bar.set_postfix(loss=f"{losses[-1]:.3f}", refresh=False)
    return losses


def write(model: nn.Module, device, length: int, beginning: str = "The ") -> str:
    """Text by the model: each character drawn from the probabilities it gives."""
    text = torch.tensor([[CHARACTERS.index(c) for c in beginning]], device=device)
    for _ in range(length):
        probabilities = model(text[:, -CONTEXT:])[:, -1].softmax(dim=-1)
        text = torch.cat([text, torch.multinomial(probabilities, 1)], dim=1)
    return "".join(CHARACTERS[i] for i in text[0].tolist())


def main(arguments: list[str] | None = None) -> float:
    """Run the example; returns the loss on unseen text."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cpu", help="cpu, mlx:cpu, mps, cuda, auto (default: cpu)")
    parser.add_argument("--steps", type=int, default=800)
    parser.add_argument("--length", type=int, default=300, help="how many characters to write")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "output", help="folder for the picture")
    options = parser.parse_args(arguments)

    torch.manual_seed(options.seed)
    device = torch.device(options.device)
    training, test = load()
    model = GPT().to(device)
    losses = train(model, training, device, options.steps)
    with torch.no_grad():
        unseen = sum(loss_on(model, test, device).item() for _ in range(10)) / 10
        print(write(model, device, options.length))

    options.output.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(figsize=(6, 4))
    axes.plot(losses)
    axes.axhline(math.log(len(CHARACTERS)), color="gray", linestyle=":", label="guessing")
    axes.set(xlabel="step", ylabel="nats a character", title="Loss on the training batches")
    axes.legend()
    figure.savefig(options.output / "char_gpt_loss.png", dpi=120, bbox_inches="tight")
    plt.close(figure)
    print(f"loss on unseen text {unseen:.3f} nats a character")
    return unseen


if __name__ == "__main__":
    main()
