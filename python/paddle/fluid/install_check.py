"""install_check.run_check(): does the installation compute?"""
import sys

import numpy as np

__all__ = ["run_check"]


def run_check() -> None:
    """Trains a small network for two steps in programs of its own and prints that it worked; else raises."""
    from . import CPUPlace, Executor, Program, Scope, layers, optimizer, program_guard, scope_guard, unique_name

    main, startup, scope = Program(), Program(), Scope()
    with program_guard(main, startup), unique_name.guard(), scope_guard(scope):
        x = layers.data(name="inp", shape=[2])
        loss = layers.mean(layers.fc(x, size=3))
        optimizer.SGD(learning_rate=0.1).minimize(loss)
        exe = Executor(CPUPlace())
        exe.run(startup)
        first, second = (float(exe.run(main, feed={"inp": np.ones((2, 2), "float32")}, fetch_list=[loss])[0][0])
                         for _ in range(2))
    if not second < first:
        raise RuntimeError(f"the installation is broken: a step of SGD took the loss from {first} to {second}")
    sys.stdout.write("Your Paddle Fluid works well on SINGLE GPU or CPU.\nYour Paddle Fluid is installed "
                     "successfully!\n")
