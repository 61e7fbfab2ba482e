"""Splits the text of `paddle.dataset.imikolov` for several trainers, into SPLIT_COUNT files for each part.

    python prepare.py        # writes word_dict.pickle, train.txt, train.txt-00000 …, test.txt, test.txt-00000 …

Line i of the text goes to file i modulo SPLIT_COUNT.
"""
import os
import pickle

import paddle

SPLIT_COUNT = int(os.getenv("SPLIT_COUNT", "3"))


def split(name, lines):
    parts = [open(f"{name}-{i:05d}", "w", encoding="utf-8") for i in range(SPLIT_COUNT)]
    try:
        with open(name, "w", encoding="utf-8") as whole:
            for i, line in enumerate(lines):
                whole.write(line + "\n")
                parts[i % SPLIT_COUNT].write(line + "\n")
    finally:
        for part in parts:
            part.close()


if __name__ == "__main__":
    with open("word_dict.pickle", "wb") as f:
        pickle.dump(paddle.dataset.imikolov.build_dict(), f)
    split("train.txt", paddle.dataset.imikolov.lines()())
    split("test.txt", paddle.dataset.imikolov.lines(test_part=True)())
