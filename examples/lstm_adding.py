"""Train an LSTM on the adding problem: remember two numbers of a long sequence and add them, on any device.

    python examples/lstm_adding.py --device cpu        # or mlx:cpu, mps, cuda, auto

The task by which Hochreiter and Schmidhuber, "Long Short-Term Memory" (1997), showed that an LSTM remembers: a step
brings a number in [0, 1] and a mark; the two marked numbers are to be added. Answering 1 has a mean squared error of
1/6. Shows the progress, saves the error's curve in examples/output, and prints the error on new sequences last.
"""

from __future__ import annotations

import argparse
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
    sys.exit(f"lstm_adding needs {error.name}: pip install 'framework[examples]'")

matplotlib.use("Agg")  # pictures go to files; no window is needed


def sequences(count: int, length: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(count, length, 2) numbers and marks, one in each half of the sequence; the sums (count,)."""
    numbers, marks = torch.rand(count, length), torch.zeros(count, length)
    rows, half = torch.arange(count), length // 2
    marks[rows, torch.randint(half, (count,))] = 1
    marks[rows, half + torch.randint(length - half, (count,))] = 1
    return torch.stack([numbers, marks], dim=2), (numbers * marks).sum(dim=1)


class Adder(nn.Module):
    """An LSTM reads the sequence; a linear layer answers from its last state."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.lstm = nn.LSTM(2, width, batch_first=True)
        self.answer = nn.Linear(width, 1)

    def forward(self, x):
        states, _ = self.lstm(x)
        return self.answer(states[:, -1]).squeeze(1)


def train(model: nn.Module, device, steps: int, length: int) -> list[float]:
    """Adam on the mean squared error of fresh sequences at each step; returns the errors."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses: list[float] = []
    for _ in (bar := tqdm(range(steps), desc=f"training on {device}", unit="step")):
        x, sums = sequences(64, length)
        loss = F.mse_loss(model(x.to(device)), sums.to(device))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        bar.set_postfix(error=f"{losses[-1]:.4f}", refresh=False)
    return losses


def main(arguments: list[str] | None = None) -> float:
    """Run the example; returns the mean squared error on new sequences."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cpu", help="cpu, mlx:cpu, mps, cuda, auto (default: cpu)")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--length", type=int, default=24, help="of the sequences")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "output", help="folder for the picture")
    options = parser.parse_args(arguments)

    torch.manual_seed(options.seed)
    device = torch.device(options.device)
    model = Adder().to(device)
    losses = train(model, device, options.steps, options.length)
    with torch.no_grad():
        x, sums = sequences(1000, options.length)
        error = F.mse_loss(model(x.to(device)), sums.to(device)).item()

    options.output.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(figsize=(6, 4))
    axes.plot(losses)
    axes.axhline(1 / 6, color="gray", linestyle=":", label="answering 1")
    axes.set(xlabel="step", ylabel="mean squared error", yscale="log", title=f"Adding two of {options.length} numbers")
    axes.legend()
    figure.savefig(options.output / "lstm_adding.png", dpi=120, bbox_inches="tight")
    plt.close(figure)
    print(f"mean squared error {error:.5f} on new sequences (answering 1: {1 / 6:.5f})")
    return error


if __name__ == "__main__":
    main()
