"""Data of the Fleet example, made in memory."""
import numpy as np


def gen_data(random=np.random):
    """A batch of 128 points of which nothing can be learnt: the cost stays near ln 2."""
    return {"x": random.random_sample(size=(128, 32)).astype("float32"),
            "y": random.randint(2, size=(128, 1)).astype("int64")}
