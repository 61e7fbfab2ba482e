"""A script without a mistake: checkers of types accept it. It is read, not run."""
import numpy as np
import paddle
import paddle.fluid as fluid


def main() -> None:
    x = fluid.layers.data(name="x", shape=[13], dtype="float32")
    y = fluid.layers.data(name="y", shape=[1], dtype="float32")
    predict = fluid.layers.fc(input=x, size=1, act=None, param_attr=fluid.ParamAttr(name="w"))
    cost = fluid.layers.mean(fluid.layers.square_error_cost(input=predict, label=y))
    loss = cost * 2.0 + 1.0
    optimizer = fluid.optimizer.SGD(learning_rate=0.01)
    ops, pairs = optimizer.minimize(loss)
    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    exe.run(fluid.default_startup_program())
    feeder = fluid.DataFeeder(place=place, feed_list=[x, y])
    reader = paddle.batch(paddle.reader.shuffle(paddle.dataset.uci_housing.train(), buf_size=500), batch_size=20)
    for data in reader():
        (value,) = exe.run(feed=feeder.feed(data), fetch_list=[cost])
        print(float(np.asarray(value)[0]))
    fluid.io.save_inference_model("model", ["x"], [predict], exe)
    t = fluid.DistributeTranspiler()
    t.transpile(trainer_id=0, pservers="127.0.0.1:6174", trainers=1)
    emb = fluid.embedding(fluid.data("ids", [None], dtype="int64"), size=[10, 3])
    fluid.layers.Print(emb, message="emb")


main()
