"""Train a small convolutional network on scikit-learn's handwritten digits, on any device.

    python examples/train_digits.py --device cpu        # or mlx:cpu, mps, cuda, auto

Shows the progress, saves the loss curve and some predictions as pictures in examples/output, and prints the test
accuracy last.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import framework as torch
from framework import nn

try:
    import matplotlib
    import matplotlib.pyplot as plt
    from sklearn.datasets import load_digits
    from tqdm import tqdm
except ImportError as error:
    sys.exit(f"train_digits needs {error.name}: pip install 'framework[examples]'")

matplotlib.use("Agg")  # pictures go to files; no window is needed

TEST_EXAMPLES = 360  # of 1797: every fifth


def load() -> tuple[torch.utils.data.TensorDataset, torch.utils.data.TensorDataset]:
    """Training and test examples: images (1, 8, 8) with values in [0, 1], and their digits."""
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
    labels = torch.tensor(digits.target, dtype=torch.int64)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))  # the same split for every seed
    test, train = order[:TEST_EXAMPLES], order[TEST_EXAMPLES:]
    dataset = torch.utils.data.TensorDataset
    return dataset(images[train], labels[train]), dataset(images[test], labels[test])


def network(dropout: bool) -> nn.Module:
    """Two convolutions, a pooling, a linear layer."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Dropout(0.25) if dropout else nn.Identity(),
        nn.Flatten(),
        nn.Linear(32 * 4 * 4, 10),
    )


def train(model: nn.Module, dataset, device, epochs: int, steps: int | None, batch_size: int = 64) -> list[float]:
    """Adam on the cross-entropy for a number of epochs, or of steps if that is less; returns the loss of every step."""
    loader = torch.utils.data.DataLoader(dataset, batch_size=batch_size, shuffle=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    model.train()
    total = epochs * len(loader) if steps is None else min(steps, epochs * len(loader))
    losses: list[float] = []
    with tqdm(total=total, desc=f"training on {device}", unit="step") as bar:
        while len(losses) < total:
            for images, labels in loader:
                if len(losses) == total:
                    break
                loss = criterion(model(images.to(device)), labels.to(device))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
                bar.set_postfix(loss=f"{losses[-1]:.3f}", refresh=False)
                bar.update()
    return losses


def predict(model: nn.Module, images, device):
    """The most likely digit of each image."""
    model.eval()
    with torch.no_grad():
        return model(images.to(device)).argmax(dim=1).cpu()


def save_pictures(losses: list[float], images, labels, predictions, folder: Path) -> None:
    """The loss curve, and test images with what the network takes them for (mistakes first, in red)."""
    folder.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(figsize=(6, 4))
    axes.plot(losses)
    axes.set(xlabel="step", ylabel="cross-entropy", yscale="log", title="Loss on the training batches")
    figure.savefig(folder / "digits_loss.png", dpi=120, bbox_inches="tight")
    plt.close(figure)

    labels, predictions = labels.tolist(), predictions.tolist()
    order = sorted(range(len(labels)), key=lambda i: labels[i] == predictions[i])
    figure, grid = plt.subplots(3, 8, figsize=(10, 4.5))
    for axes, i in zip(grid.flat, order, strict=False):
        right = labels[i] == predictions[i]
        axes.imshow(images[i, 0].tolist(), cmap="gray_r")
        axes.set_title(
            f"{predictions[i]}" if right else f"{predictions[i]} (is {labels[i]})", color="k" if right else "r"
        )
        axes.axis("off")
    figure.savefig(folder / "digits_predictions.png", dpi=120, bbox_inches="tight")
    plt.close(figure)


def main(arguments: list[str] | None = None) -> float:
    """Run the example; returns the test accuracy."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cpu", help="cpu, mlx:cpu, mps, cuda, auto (default: cpu)")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--steps", type=int, help="stop after this many steps")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-dropout", action="store_true")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "output", help="folder for the pictures")
    options = parser.parse_args(arguments)

    torch.manual_seed(options.seed)
    device = torch.device(options.device)
    training, test = load()
    model = network(dropout=not options.no_dropout).to(device)
    start = time.perf_counter()
    losses = train(model, training, device, options.epochs, options.steps)
    seconds = time.perf_counter() - start
    images, labels = test.tensors
    predictions = predict(model, images, device)
    save_pictures(losses, images, labels, predictions, options.output)
    accuracy = (predictions == labels).float().mean().item()
    print(f"{len(losses)} steps in {seconds:.1f} s, pictures in {options.output}")
    print(f"test accuracy {accuracy:.1%}")
    return accuracy


if __name__ == "__main__":
    main()
