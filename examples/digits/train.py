#!/usr/bin/python3
"""Trains a small network on scikit-learn's handwritten digits (1,797 images of 8×8 points).

It knows nothing of seedbed: it takes its settings as options and prints one line per epoch.
"""

import argparse

import numpy
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lr", type=float, default=1e-2, help="learning rate")
    parser.add_argument("--hidden", type=int, default=32, help="width of the hidden layer")
    parser.add_argument("--seed", type=int, default=0, help="of the weights and the batches")
    parser.add_argument("--epochs", type=int, default=60)
    arguments = parser.parse_args()

    images, labels = load_digits(return_X_y=True)
    # The split stays the same for all settings and seeds, so that they can be compared.
    train_x, val_x, train_y, val_y = train_test_split(
        images / 16.0, labels, test_size=0.25, random_state=0, stratify=labels)
    network = MLPClassifier(
        hidden_layer_sizes=(arguments.hidden,), solver="sgd", momentum=0.9, batch_size=32,
        learning_rate_init=arguments.lr, random_state=arguments.seed)
    for epoch in range(1, arguments.epochs + 1):
        network.partial_fit(train_x, train_y, classes=numpy.arange(10))
        accuracy = network.score(val_x, val_y)
        print(f"epoch={epoch} loss={network.loss_:.4f} val_acc={accuracy:.4f}", flush=True)


if __name__ == "__main__":
    main()
