"""A small training whose role is given as name=value; prints exact losses and digests of the parameters."""
import hashlib
import os
import sys
import time

import numpy as np
import pserver_role

import paddle.fluid as fluid

options = dict(role="LOCAL", pservers="", trainers="1", steps="12", mode="sync", optimizer="sgd", seed="3",
               hidden="8", net="mlp",
               save="", load="", pause="0", close="1", fall="-1", block="8192")
options.update(a.split("=", 1) for a in sys.argv[1:])
role, trainers, steps = options["role"], int(options["trainers"]), int(options["steps"])


def attr(name, seed):
    return fluid.ParamAttr(name=name, initializer=fluid.initializer.Uniform(-0.5, 0.5, seed=seed))


def network(x, y):
    seed = int(options["seed"])
    hidden = fluid.layers.fc(x, int(options["hidden"]), act="tanh", param_attr=attr("w1", seed),
                             bias_attr=attr("b1", seed + 1))
    out = fluid.layers.fc(hidden, 1, param_attr=attr("w2", seed + 2), bias_attr=attr("b2", seed + 3))
    return fluid.layers.mean(fluid.layers.square_error_cost(out, y))


def data(name, width):
    return fluid.layers.data(name, [width], dtype="float32")


rng = np.random.RandomState(7)
if role == "TOGETHER":  # one process that sums what the trainers of a job would send
    parts = [network(data("x%d" % i, 6), data("y%d" % i, 1)) for i in range(trainers)]
    loss = fluid.layers.scale(fluid.layers.sum(parts), 1.0 / trainers)
else:
    loss = network(data("x", 6), data("y", 1))
make = {"sgd": lambda: fluid.optimizer.SGD(0.1), "adam": lambda: fluid.optimizer.Adam(0.05),
        "momentum": lambda: fluid.optimizer.Momentum(0.05, 0.9)}[options["optimizer"]]
make().minimize(loss)
main, startup = fluid.default_main_program(), fluid.default_startup_program()
exe = fluid.Executor(fluid.CPUPlace())

if role in ("PSERVER", "TRAINER"):
    config = fluid.DistributeTranspilerConfig()
    config.min_block_size = int(options["block"])
    config.geo_sgd_mode = options["mode"] == "geo"
    config.geo_sgd_need_push_nums = 3
    config.runtime_split_send_recv = options["mode"] == "async"
    t = fluid.DistributeTranspiler(config)
    given = {"trainer_id": int(options["id"])} if "id" in options else {}
    t.transpile(pservers=options["pservers"], trainers=trainers, sync_mode=options["mode"] == "sync", **given)
if role == "PSERVER":
    pserver_role.serve(exe, t, options["endpoint"], options["load"])
if role == "TRAINER":
    main = t.get_trainer_program()
exe.run(startup)


def batch():
    x = rng.randn(4, 6).astype("float32")
    return x, np.tanh(x.sum(1, keepdims=True)).astype("float32")


for step in range(steps):
    batches = [batch() for _ in range(trainers)]
    if role == "TOGETHER":
        feed = {k + str(i): v for i, (x, y) in enumerate(batches) for k, v in (("x", x), ("y", y))}
    else:
        x, y = batches[int(options.get("id", 0)) if trainers > 1 else 0]
        feed = {"x": x, "y": y}
    value, = exe.run(main, feed=feed, fetch_list=[loss])
    print("loss", float(value[0]).hex(), flush=True)
    if step == int(options["fall"]):
        raise RuntimeError("the script falls over")
    if float(options["pause"]):
        time.sleep(float(options["pause"]))
if options["save"] and int(options.get("id", 0)) == 0:
    fluid.io.save_persistables(exe, options["save"], main)
for name in ("w1", "b1", "w2", "b2"):
    array = np.array(fluid.global_scope().find_var(name).get_tensor())
    print("weight", name, hashlib.sha256(array.tobytes()).hexdigest()[:16], flush=True)
if options["close"] == "1":
    exe.close()
