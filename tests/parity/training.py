"""Training runs written once, with the namespace (`framework` or `torch`) as their argument. Each returns the loss of
every step.
"""

from __future__ import annotations

STEPS = 20


def digits(torch):
    """scikit-learn's digits: images (1, 8, 8) in [0, 1] and labels."""
    from sklearn.datasets import load_digits

    data = load_digits()
    images = torch.tensor(data.images, dtype=torch.float32).unsqueeze(1) / 16
    return torch.utils.data.TensorDataset(images, torch.tensor(data.target, dtype=torch.int64))


def classify(torch, model, optimizer, steps=STEPS):
    """Steps of an optimizer on the cross-entropy of shuffled batches."""
    loader = torch.utils.data.DataLoader(digits(torch), batch_size=32, shuffle=True, drop_last=True)
    criterion = torch.nn.CrossEntropyLoss()
    losses = []
    for images, labels in loader:
        loss = criterion(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if len(losses) == steps:
            return losses
    raise AssertionError("too few batches")


def mlp(torch, optimizer="Adam", **options):
    """Three linear layers."""
    nn = torch.nn
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 32), nn.GELU(), nn.Linear(32, 10))
    return classify(torch, model, getattr(torch.optim, optimizer)(model.parameters(), **options))


def cnn(torch, optimizer="SGD", **options):
    """Convolutions with batch norm, pooling and dropout of channels, under a schedule."""
    nn = torch.nn
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1),
        nn.GroupNorm(4, 16),
        nn.SiLU(),
        nn.Dropout(0.2),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(64, 10),
    )
    return classify(
        torch, model, getattr(torch.optim, optimizer)(model.parameters(), **({"lr": 0.05, "momentum": 0.9} | options))
    )


def embedding(torch, optimizer="AdamW", **options):
    """A bag of embedded pixels: embedding, layer norm, padding, a loss with label smoothing."""
    nn = torch.nn
    torch.manual_seed(0)

    class Bag(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(17, 16, padding_idx=0)
            self.norm = nn.LayerNorm(16)
            self.head = nn.Linear(16 * 4, 10)

        def forward(self, x):
            x = self.table((x.flatten(1) * 16).long())
            return self.head(self.norm(x).reshape(x.shape[0], 4, 16, 16).mean(2).flatten(1))

    model = Bag()
    return classify(torch, model, getattr(torch.optim, optimizer)(model.parameters(), **options))


def encoder(torch, optimizer="Adam", dropout=0.0, **options):
    """A Transformer's encoder over the rows of an image, some rows hidden as padding."""
    nn = torch.nn
    torch.manual_seed(0)

    class Rows(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Linear(8, 16)
            layer = nn.TransformerEncoderLayer(16, 2, 32, dropout, batch_first=True, **options)
            self.encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(16), enable_nested_tensor=False)
            self.head = nn.Linear(16, 10)

        def forward(self, x):
            x = x.flatten(1).reshape(x.shape[0], 8, 8)
            hidden = x.sum(2) < 1.0
            return self.head(self.encoder(self.embed(x), src_key_padding_mask=hidden).mean(1))

    model = Rows()
    return classify(torch, model, getattr(torch.optim, optimizer)(model.parameters(), lr=0.003))


def translation(torch, steps=STEPS):
    """A whole Transformer that learns to repeat sequences, with causal masks."""
    nn = torch.nn
    torch.manual_seed(0)
    table, head = nn.Embedding(12, 16), nn.Linear(16, 12)
    model = nn.Transformer(16, 2, 1, 1, 32, 0.0, batch_first=True)
    parameters = [*table.parameters(), *model.parameters(), *head.parameters()]
    optimizer, losses = torch.optim.AdamW(parameters, lr=0.01), []
    for _ in range(steps):
        words = torch.randint(0, 12, (4, 6))
        mask = nn.Transformer.generate_square_subsequent_mask(5)
        out = head(model(table(words), table(words[:, :-1]), tgt_mask=mask, tgt_is_causal=True))
        loss = nn.functional.cross_entropy(out.reshape(-1, 12), words[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


RUNS = [
    (mlp, {}),
    (mlp, {"optimizer": "SGD", "lr": 0.1}),
    (mlp, {"optimizer": "RMSprop", "lr": 0.001}),
    (mlp, {"optimizer": "Adadelta"}),
    (cnn, {}),
    (cnn, {"nesterov": True, "weight_decay": 0.01}),
    (embedding, {"lr": 0.01}),
    (encoder, {}),
    (encoder, {"norm_first": True, "activation": "gelu"}),
    (encoder, {"optimizer": "SGD", "dropout": 0.1}),
    (translation, {}),
]
