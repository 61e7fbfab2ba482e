"""Mistakes that checkers of types find before a script runs: one in every line with a mark."""
import paddle.fluid as fluid

x = fluid.layers.data(name="x", shape=[13])
fluid.layers.fc(x, siz=1)  # wrong
fluid.layers.fc(x, size="1")  # wrong
fluid.layers.fcc(x, size=1)  # wrong
fluid.optimizer.SGD(learning_rat=0.1)  # wrong
fluid.Executr()  # wrong
fluid.layers.fc(input=3, size=1)  # wrong
fluid.layers.relu(y=x)  # wrong
fluid.layers.adaptive_pool2d(x, poolsize=2)  # wrong
