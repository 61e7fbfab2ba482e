"""Refused: collective training is not supported. ``paddle.distributed.launch_ps`` starts a training with parameter
servers."""
import sys

if __name__ == "__main__":
    sys.exit("paddle.distributed.launch starts collective training, which is not supported; use "
             "paddle.distributed.launch_ps")
