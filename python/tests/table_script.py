"""A small training with a sparse table, its role given as name=value; prints exact losses, also of a test program."""
import sys

import numpy as np
import pserver_role

import paddle.fluid as fluid
from paddle.fluid import core

options = dict(role="LOCAL", pservers="", trainers="1", steps="12", kind="distributed", mode="sync", save="", load="",
               first="0", id="0", after="0", seed="3", optimizer="adagrad")
options.update(a.split("=", 1) for a in sys.argv[1:])
role, trainers, first = options["role"], int(options["trainers"]), int(options["first"])
distributed = options["kind"] == "distributed"
fluid.default_startup_program().random_seed = int(options["seed"])

ids = fluid.data("ids", [None, 1], dtype="int64")
rows = fluid.layers.embedding(ids, size=[-1 if distributed else 200, 4], is_sparse=True, is_distributed=distributed,
                              param_attr=fluid.ParamAttr(name="emb", initializer=fluid.initializer.Uniform(-0.5, 0.5)))
score = fluid.layers.fc(rows, 1, param_attr=fluid.ParamAttr(name="w"), bias_attr=fluid.ParamAttr(name="b"))
loss = fluid.layers.mean(fluid.layers.square(score - 1.0))
test = fluid.default_main_program().clone(for_test=True)
{"adagrad": lambda: fluid.optimizer.Adagrad(0.1), "adam": lambda: fluid.optimizer.Adam(0.1, lazy_mode=True),
 "sgd": lambda: fluid.optimizer.SGD(0.1)}[options["optimizer"]]().minimize(loss)
main, startup = fluid.default_main_program(), fluid.default_startup_program()
exe = fluid.Executor(fluid.CPUPlace())
if role != "LOCAL":
    config = fluid.DistributeTranspilerConfig()
    config.geo_sgd_mode = options["mode"] == "geo"
    t = fluid.DistributeTranspiler(config)
    t.transpile(pservers=options["pservers"], trainers=trainers, sync_mode=options["mode"] == "sync",
                trainer_id=int(options["id"]))
if role == "PSERVER":
    pserver_role.serve(exe, t, options["endpoint"], options["load"])
if role == "TRAINER":
    main = t.get_trainer_program()
exe.run(startup)
if options["load"]:
    fluid.io.load_persistables(exe, options["load"], main)
CHECK = np.arange(0, 200, 7, dtype="int64").reshape(-1, 1)


def show(word, program, feed):
    value, = exe.run(program, feed={"ids": feed}, fetch_list=[loss])
    print(word, float(value[0]).hex(), flush=True)


for step in range(first, first + int(options["steps"])):
    rng = np.random.RandomState(1000 * step + int(options["id"]))
    show("loss", main, rng.randint(0, 200, (6, 1)).astype("int64"))
    if step % 3 == 0 and options["id"] == "0":
        show("test", test, CHECK)
if options["save"] and options["id"] == "0":
    fluid.io.save_persistables(exe, options["save"], main)
    fluid.io.save_inference_model(options["save"] + "_inference", ["ids"], [score], exe, main)
exe.close()
if options["after"] == "1":
    exe = fluid.Executor(fluid.CPUPlace())
    try:
        show("test", test, CHECK)
        fluid.io.save_persistables(exe, "after", main)
        print("saved")
    except core.EnforceNotMet as e:
        print("refused", str(e).replace("\n", " "))
