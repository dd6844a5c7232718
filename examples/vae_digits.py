"""Train a variational autoencoder on scikit-learn's handwritten digits and let it draw new ones, on any device.

    python examples/vae_digits.py --device cpu        # or mlx:cpu, mps, cuda, auto

After Kingma and Welling, "Auto-Encoding Variational Bayes" (2013). Shows the progress, saves test images beside what
comes back, and digits that the model draws, as a picture in examples/output, and prints the test images' loss last.
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
    from sklearn.datasets import load_digits
    from tqdm import tqdm
except ImportError as error:
    sys.exit(f"vae_digits needs {error.name}: pip install 'framework[examples]'")

matplotlib.use("Agg")  # pictures go to files; no window is needed

CODE = 8  # numbers that stand for an image
TEST_IMAGES = 360  # of 1797: every fifth


def load() -> tuple[torch.Tensor, torch.Tensor]:
    """Training and test images, 64 values in [0, 1] each."""
    images = torch.tensor(load_digits().data, dtype=torch.float32) / 16
    images = images[torch.randperm(len(images), generator=torch.Generator().manual_seed(0))]
    return images[TEST_IMAGES:], images[:TEST_IMAGES]


class VAE(nn.Module):
    """An image's code is normally distributed, with a mean and a variance that the encoder gives."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 128), nn.SiLU(), nn.Linear(128, 2 * CODE))
        self.decoder = nn.Sequential(nn.Linear(CODE, 128), nn.SiLU(), nn.Linear(128, 64))

    def forward(self, images):
        """Scores of the pixels that come back, and the code's mean and log-variance."""
        mean, log_variance = self.encoder(images).chunk(2, dim=1)
        code = mean + torch.exp(log_variance / 2) * torch.randn_like(mean)
        return self.decoder(code), mean, log_variance


def loss_of(model: nn.Module, images):
    """The bound on -log p(image), in nats an image: cross-entropy of the pixels + KL(code | standard normal)."""
    scores, mean, log_variance = model(images)
    pixels = F.binary_cross_entropy_with_logits(scores, images, reduction="sum")
    divergence = 0.5 * torch.sum(mean**2 + torch.exp(log_variance) - 1 - log_variance)
    return (pixels + divergence) / len(images)


def train(model: nn.Module, images, device, steps: int) -> list[float]:
    """Adam on batches drawn at random; returns the loss of every step."""
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    losses: list[float] = []
    for _ in (bar := tqdm(range(steps), desc=f"training on {device}", unit="step")):
        batch = images[torch.randint(len(images), (64,))].to(device)
        loss = loss_of(model, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        bar.set_postfix(loss=f"{losses[-1]:.2f}", refresh=False)
    return losses


def save_picture(model: nn.Module, images, device, folder: Path) -> None:
    """Four rows of twelve: test images, what comes back of them, and two rows drawn from nothing but random codes."""
    shown = images[:12].to(device)
    back = model(shown)[0].sigmoid()
    drawn = model.decoder(torch.randn(24, CODE, device=device)).sigmoid()
    figure, grid = plt.subplots(4, 12, figsize=(10, 3.8))
    for axes, image in zip(grid.flat, torch.cat([shown, back, drawn]).cpu(), strict=True):
        axes.imshow(image.view(8, 8).tolist(), cmap="gray_r")
        axes.axis("off")
    figure.suptitle("Test images, what comes back of them, and two rows of new ones")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "vae_digits.png", dpi=120, bbox_inches="tight")
    plt.close(figure)


def main(arguments: list[str] | None = None) -> float:
    """Run the example; returns the loss on the test images."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cpu", help="cpu, mlx:cpu, mps, cuda, auto (default: cpu)")
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "output", help="folder for the picture")
    options = parser.parse_args(arguments)

    torch.manual_seed(options.seed)
    device = torch.device(options.device)
    training, test = load()
    model = VAE().to(device)
    train(model, training, device, options.steps)
    with torch.no_grad():
        loss = loss_of(model, test.to(device)).item()
        save_picture(model, test, device, options.output)
    print(f"picture in {options.output}")
    print(f"test loss {loss:.2f} nats an image")
    return loss


if __name__ == "__main__":
    main()
