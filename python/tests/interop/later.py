"""Runs the inference models of a directory that exchange.py wrote with a later PaddlePaddle (2.6.2).

    real262/bin/python python/tests/interop/later.py OURS
"""
import os
import pickle
import sys

import numpy as np
import paddle


def replay(path):
    """What differs, as a sentence; None where nothing does."""
    with open(os.path.join(path, "case"), "rb") as f:
        case = pickle.load(f)
    exe = paddle.static.Executor(paddle.CPUPlace())
    folder = os.path.join(path, "combined")
    with paddle.static.scope_guard(paddle.static.Scope()):
        params = "__params__" if os.path.exists(os.path.join(folder, "__params__")) else None
        main, names, fetch = paddle.static.load_inference_model(folder, exe, model_filename="__model__",
                                                                params_filename=params)
        feed = {}
        for name in names:
            array, lengths = case["feed"][name]
            feed[name] = paddle.base.create_lod_tensor(array, lengths, paddle.CPUPlace()) if lengths else array
        found = exe.run(main, feed=feed, fetch_list=fetch, return_numpy=False)
    for i, ((wanted, _), got) in enumerate(zip(case["found"][0], found)):
        got = np.array(got)
        if wanted.size != got.size or wanted.dtype != got.dtype:
            return "result %d: %s %s became %s %s" % (i, wanted.dtype, wanted.shape, got.dtype, got.shape)
        if not np.allclose(wanted.ravel(), got.ravel(), rtol=2e-4, atol=2e-5, equal_nan=True):
            return "result %d: %s became %s" % (i, wanted.ravel()[:4], got.ravel()[:4])
    return None


def main(root):
    paddle.enable_static()
    keys = sorted(os.listdir(os.path.join(root, "inference")))
    good = 0
    for key in keys:
        path = os.path.join(root, "inference", key)
        if not os.path.exists(os.path.join(path, "case")):
            continue
        child = os.fork()  # a wrong model may end the process
        if child == 0:
            try:
                answer = replay(path)
            except Exception as e:
                answer = "%s: %s" % (type(e).__name__, " | ".join(str(e).splitlines()[-3:]))
            if answer:
                print("  %s: %s" % (key, answer), flush=True)
            os._exit(1 if answer else 0)
        status = os.waitpid(child, 0)[1]
        if status not in (0, 256):
            print("  %s: ended with status %d" % (key, status))
        good += status == 0
    print("inference: %d of %d the same" % (good, len(keys)))


if __name__ == "__main__":
    main(sys.argv[1])
