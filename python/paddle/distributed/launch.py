"""Refused: collective training is not there. ``paddle.distributed.launch_ps`` starts a training with parameter
servers."""
import sys

if __name__ == "__main__":
    sys.exit("paddle.distributed.launch starts collective training, which is not there; use "
             "paddle.distributed.launch_ps")
