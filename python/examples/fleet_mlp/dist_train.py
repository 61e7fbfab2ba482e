"""A small network with Fleet, on the pservers and workers that the environment describes:

    python -m paddle.distributed.launch_ps --worker_num 2 --server_num 2 dist_train.py

starts them all on this machine; logs are in logs/. STEPS says how long (1001), SYNC_MODE=0 trains async.
"""
import os

import paddle.fluid as fluid
from paddle.fluid.incubate.fleet.base import role_maker
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import fleet
from paddle.fluid.transpiler.distribute_transpiler import DistributeTranspilerConfig

from nets import mlp
from utils import gen_data

STEPS = int(os.getenv("STEPS", "1001"))

input_x = fluid.layers.data(name="x", shape=[32], dtype="float32")
input_y = fluid.layers.data(name="y", shape=[1], dtype="int64")
cost = mlp(input_x, input_y)

fleet.init(role_maker.PaddleCloudRoleMaker())
strategy = DistributeTranspilerConfig()
strategy.sync_mode = os.getenv("SYNC_MODE", "1") != "0"
fleet.distributed_optimizer(fluid.optimizer.SGD(learning_rate=0.01), strategy).minimize(cost)

if fleet.is_server():
    fleet.init_server()
    fleet.run_server()
elif fleet.is_worker():
    fleet.init_worker()
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    for i in range(STEPS):
        value, = exe.run(program=fluid.default_main_program(), feed=gen_data(), fetch_list=[cost.name])
        if i % 100 == 0:
            print(f"worker_index: {fleet.worker_index()}, step{i} cost = {float(value[0]):f}", flush=True)
    fleet.stop_worker()
