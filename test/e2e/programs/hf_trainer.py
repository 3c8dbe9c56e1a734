"""transformers' Trainer fits a line on several processes, evaluates it, and predicts each row once, in order."""

import os

import torch
from transformers import Trainer, TrainingArguments

ROWS = 45  # no multiple of the processes


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return ROWS

    def __getitem__(self, i):
        x = torch.tensor([i / ROWS])
        return {"x": x, "labels": 2 * x + 1}


class Line(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)

    def forward(self, x, labels=None):
        y = self.layer(x)
        return torch.nn.functional.mse_loss(y, labels), y


def main():
    # Newer versions call it use_cpu.
    cpu = {"use_cpu" if hasattr(TrainingArguments, "use_cpu") else "no_cuda": True}
    arguments = TrainingArguments(output_dir=os.environ["TONY_CHECKPOINT_DIR"], num_train_epochs=30, learning_rate=0.1,
                                  per_device_train_batch_size=4, report_to=[], save_strategy="no",
                                  disable_tqdm=True, logging_strategy="no", ddp_backend="gloo", **cpu)
    trainer = Trainer(Line(), arguments, train_dataset=Rows(), eval_dataset=Rows(),
                      compute_metrics=lambda found: {"rows": len(found.predictions)})
    trainer.train()
    metrics = trainer.evaluate()
    labels = trainer.predict(Rows()).label_ids.ravel()
    assert labels.tolist() == sorted(labels.tolist()) and len(labels) == ROWS
    print(f"rank {arguments.process_index} of {arguments.world_size}: loss {metrics['eval_loss']:.3f}, "
          f"{metrics['eval_rows']} rows")


if __name__ == "__main__":
    main()
