"""Lightning's usual first program: a Trainer with DDP fits a line, one process on each of two nodes."""

import os

import torch
from lightning import LightningModule, Trainer
from torch.utils.data import DataLoader, TensorDataset


class Line(LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)

    def _register_sharded_tensor_state_dict_hooks_if_available(self):
        """Debian's PyTorch 1.13 cannot import its sharded tensors with Python 3.11, and none is here."""

    def training_step(self, batch, _):
        x, y = batch
        return torch.nn.functional.mse_loss(self.layer(x), y)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def main():
    x = torch.linspace(-1, 1, 64).unsqueeze(1)
    model = Line()
    trainer = Trainer(accelerator="cpu", devices=1, num_nodes=2, strategy="ddp", max_epochs=30, logger=False,
                      enable_progress_bar=False, enable_model_summary=False,
                      default_root_dir=os.environ["TONY_CHECKPOINT_DIR"])
    trainer.fit(model, DataLoader(TensorDataset(x, 2 * x + 1), batch_size=8))
    found = model.layer.weight.item(), model.layer.bias.item()
    print(f"rank {trainer.global_rank} of {trainer.world_size}: {found[0]:.2f} x + {found[1]:.2f}")
    assert len(trainer.train_dataloader) == 4  # of 8 batches, half


if __name__ == "__main__":
    main()
