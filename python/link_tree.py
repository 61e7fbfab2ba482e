"""link_tree.py SOURCE BUILD STAMP: puts links to the package's files and folders beside the extension module."""
import os
import sys


def main(source, build, stamp):
    wanted = {n for n in os.listdir(source) if n not in ("meson.build", "__pycache__")}
    for name in os.listdir(build):
        path = os.path.join(build, name)
        if os.path.islink(path) and name not in wanted:
            os.remove(path)
    for name in wanted:
        target, path = os.path.join(source, name), os.path.join(build, name)
        if os.path.islink(path) and os.readlink(path) == target:
            continue
        if os.path.lexists(path):
            os.remove(path)
        os.symlink(target, path)
    with open(stamp, "w"):
        pass


main(*sys.argv[1:])
