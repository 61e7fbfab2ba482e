"""Packs what `exchange.py write` wrote with PaddlePaddle into the archive that interop_test.py replays.

    real185/bin/python python/tests/interop/golden.py THEIRS python/tests/golden/paddle_1.8.5.tar.xz

The places in scripts that PaddlePaddle writes into every op (op_callstack) are taken out: they hold paths of the
machine that wrote them.
"""
import io
import os
import sys
import tarfile

from paddle.fluid.proto import framework_pb2


def without_places(content):
    program = framework_pb2.ProgramDesc()
    program.ParseFromString(content)
    for block in program.blocks:
        for op in block.ops:
            for attr in op.attrs:
                if attr.name == "op_callstack":
                    del attr.strings[:]
    return program.SerializeToString()


def pack(root, path):
    with tarfile.open(path, "w:xz", preset=9) as tar:
        for folder, names, files in os.walk(root):
            names.sort()
            for name in sorted(files):
                full = os.path.join(folder, name)
                with open(full, "rb") as f:
                    content = f.read()
                if name in ("__model__", "main", "startup"):
                    content = without_places(content)
                info = tarfile.TarInfo(os.path.relpath(full, root))
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))


if __name__ == "__main__":
    pack(sys.argv[1], sys.argv[2])
