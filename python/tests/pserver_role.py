"""What the scripts of the tests do as a pserver."""
import sys

import paddle.fluid as fluid


def serve(exe, transpiler, endpoint, load):
    """Serves until a signal; `load`: a directory whose values count in place of the trainers', or ""."""
    program, first = transpiler.get_pserver_programs(endpoint)
    exe.run(first)
    if load:
        fluid.io.load_persistables(exe, load, program)
    exe.run(program)
    sys.exit("a pserver does not return")
