"""Going on from a model of a job whose trainers had unequal data: the learning rate goes on where the job stood, not where trainer 0 did.

The gradient of the one weight is 1 in every batch, so the weight shows the sum of all learning rates that were used."""
import os
import struct

from cluster import Cluster
from support import EndToEnd, main

RATE, DECAY, STEPS = 0.125, 0.5, 20
BATCH, PASSES = 5, 2
FEW, MANY = 4, 40  # batches of a pass
MORE = 3  # batches of the pass that goes on


def rates(first, last):
    return sum(RATE * DECAY ** (step / STEPS) for step in range(first, last))


def number(file, form):
    return struct.unpack(form, file[-struct.calcsize(form):])[0]


def state_of(file):
    """The numbers at the head of a train_state: step, pass, record, samples (schemas/README.md)."""
    buffer = file[16:]
    root = struct.unpack_from("<I", buffer)[0]
    fields = root - struct.unpack_from("<i", buffer, root)[0]
    size = struct.unpack_from("<H", buffer, fields)[0]
    places = [struct.unpack_from("<H", buffer, fields + at)[0] if at < size else 0 for at in (4, 6, 8, 10)]
    return [struct.unpack_from("<Q", buffer, root + p)[0] if p else 0 for p in places]


class Schedule(EndToEnd):
    def job(self, name, batches):
        self.write(name + ".csv", "1,0\n" * BATCH * batches)
        return self.write(name + ".json", f"""{{
          "inputs": [{{"name": "x", "shape": 1}}, {{"name": "y", "shape": 1}}],
          "layers": [{{"type": "fc", "name": "p", "input": "x", "size": 1, "bias_attr": false, "param_attr": {{"initializer": 1.0}}}}],
          "cost": "p",
          "optimizer": {{"type": "sgd", "learning_rate": {RATE},
                        "schedule": {{"type": "exponential_decay", "decay_steps": {STEPS}, "decay_rate": {DECAY}}}}},
          "data": {{"format": "csv", "files": "{name}.csv", "batch_size": {BATCH},
                   "csv_fields": [{{"name": "x", "columns": ["0"]}}, {{"name": "y", "columns": ["1"]}}]}}
        }}""")

    def cluster(self, name, servers, batches, *flags):
        """Trainers with so many batches of a pass each; every one takes its share of its own file."""
        jobs = [self.job(f"{name}{i}", n * len(batches)) for i, n in enumerate(batches)]
        return Cluster(self, lambda i: jobs[i], servers, len(jobs), server_flags=["--exit_when_done"], trainer_flags=flags, name=name)

    def ended(self, model, steps, weight):
        self.assertEqual(state_of(model["train_state"])[0], steps)
        self.assertEqual(number(model["@LR_DECAY_COUNTER@"], "<q"), steps - 1)
        self.assertAlmostEqual(number(model["p.w_0"], "<f"), weight, delta=1e-4)

    def goes_on(self, directory, steps, weight):
        """Alone, and in a job of two trainers with equal data."""
        flags = [f"--num_passes={PASSES + 1}", f"--init_model_path={directory}"]
        weight -= rates(steps, steps + MORE)
        self.train(self.job("alone", MORE), *flags, "--save_dir=alone")
        self.ended(self.files(self.path("alone", f"pass-{PASSES:05}")), steps + MORE, weight)
        self.ended(self.cluster("more", 3, [MORE, MORE], *flags).run(), steps + MORE, weight)

    def test_sync(self):
        for servers in (1, 3):  # one of them has the slice, the others nothing
            with self.subTest(servers=servers):
                cluster = self.cluster(f"sync{servers}", servers, [FEW, MANY], f"--num_passes={PASSES}")
                steps = MANY * PASSES
                self.ended(cluster.run(), steps, 1 - rates(0, steps))
                self.goes_on(os.path.join(cluster.save_dir, f"pass-{PASSES - 1:05}"), steps, 1 - rates(0, steps))

    def test_half_async(self):
        """Every gradient is an update."""
        cluster = self.cluster("half", 2, [FEW, MANY], f"--num_passes={PASSES}", "--half_async")
        steps = (FEW + MANY) * PASSES
        self.ended(cluster.run(), steps, 1 - rates(0, steps))
        self.goes_on(os.path.join(cluster.save_dir, f"pass-{PASSES - 1:05}"), steps, 1 - rates(0, steps))

    def test_async(self):
        """Gradients that were merged are one update: how many there are is for the pservers to say."""
        model = self.cluster("async", 2, [FEW, MANY], f"--num_passes={PASSES}", "--async").run()
        steps = state_of(model["train_state"])[0]
        self.assertEqual(number(model["@LR_DECAY_COUNTER@"], "<q"), steps - 1)
        self.assertTrue(PASSES < steps <= (FEW + MANY) * PASSES, steps)
        directory = self.path("asyncout", f"pass-{PASSES - 1:05}")
        self.goes_on(directory, steps, number(model["p.w_0"], "<f"))

    def test_async_goes_on_in_async(self):
        """One trainer without merging: the second job counts on from the first."""
        flags = ["--half_async", f"--num_passes={PASSES}"]
        cluster = self.cluster("first", 1, [FEW], *flags)
        steps = FEW * PASSES
        self.ended(cluster.run(), steps, 1 - rates(0, steps))
        flags[1] = f"--num_passes={PASSES + 1}"
        again = self.cluster("again", 1, [MORE], *flags, f"--init_model_path={cluster.save_dir}/pass-{PASSES - 1:05}")
        self.ended(again.run(), steps + MORE, 1 - rates(0, steps + MORE))
        self.assertIn(f"joined as trainer 0 of 1 at step {steps}", again.trainers[0].log())


if __name__ == "__main__":
    main()
