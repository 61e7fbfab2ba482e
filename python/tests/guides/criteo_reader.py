"""A pipe command: lines of numbers to slots, as criteo_reader.py of the guide. First argument: ids are taken modulo
it."""
import sys

import paddle.fluid.incubate.data_generator as dg

dim = int(sys.argv[1])


class CriteoDataset(dg.MultiSlotDataGenerator):
    def generate_sample(self, line):
        def read():
            fields = line.rstrip("\n").split("\t")
            dense = [float(v) for v in fields[1:14]]
            sparse = [[hash(v) % dim if not v.isdigit() else int(v) % dim] for v in fields[14:]]
            names = ["dense_input"] + ["C%d" % (i + 1) for i in range(len(sparse))] + ["label"]
            yield list(zip(names, [dense] + sparse + [[int(fields[0])]]))
        return read


CriteoDataset().run_from_stdin()
