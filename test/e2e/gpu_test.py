"""Jobs that compute on a GPU: on the emulated one, and refused where there is none."""
import glob
import json
import os
import random
import re
import struct
import subprocess
import sys
import unittest

from cluster import Cluster, same_model, write_job
from support import BUILD, PADDLE, EndToEnd, last_number, main

REAL = os.environ.get("PADDLE_TEST_DEVICE") == "real"  # scripts/gpu_check
GPU = {} if REAL else {"PADDLE_CUDA_DEVICE": "emulated"}
EMULATED = {"PADDLE_CUDA_DEVICE": "emulated"}


class Gpu(EndToEnd):
    def train_both(self, config, *flags, tolerance=1e-5):
        self.train(config, *flags, "--event_file=cpu.jsonl", "--save_dir=cpu")
        done = self.train(config, *flags, "--event_file=gpu.jsonl", "--save_dir=gpu", "--use_gpu=true", env=GPU)
        self.assertRegex(done.stderr, r"computing on GPU 0 \(%s\)" % (".*" if REAL else "emulated"))
        self.paddle("compare", "cpu.jsonl", "gpu.jsonl", f"--tolerance={tolerance}")
        return done.stderr

    def test_digits_with_a_network_of_full_layers(self):
        log = self.train_both("recognize_digits_mlp.json", "--num_passes=1", "--config_args=hidden=16")
        self.assertNotIn("run on the CPU", log)  # every op has a kernel
        self.paddle("compare", "cpu/pass-00000", "gpu/pass-00000", "--tolerance=1e-3")

    def test_fit_a_line(self):
        self.train_both("fit_a_line.json", "--num_passes=2", tolerance=1e-3)  # costs of some hundred

    def test_digits_with_convolutions(self):
        self.write_digits("train", 128)
        self.write_digits("t10k", 64)
        log = self.train_both("recognize_digits_conv.json", "--num_passes=2", "--data_dir=.")
        self.assertNotIn("run on the CPU", log)
        self.assertNotIn("generated", log)

    def write_digits(self, part, count):
        """In the format of MNIST: a bright row at the height of the digit."""
        r = random.Random(part)
        labels = bytes(r.randrange(10) for _ in range(count))
        images = bytearray(r.randrange(60) for _ in range(count * 784))
        for i, label in enumerate(labels):
            at = i * 784 + (4 + 2 * label) * 28
            images[at:at + 28] = bytes([250] * 28)
        for name, head, content in (("images-idx3", (2051, count, 28, 28), images), ("labels-idx1", (2049, count), labels)):
            with open(self.path(f"{part}-{name}-ubyte"), "wb") as f:
                f.write(struct.pack(f">{len(head)}i", *head) + content)

    def test_dropout_and_momentum_go_on_from_a_saved_model(self):
        job = write_job(self)
        self.train(job, "--num_passes=4", "--save_dir=cpu")
        self.train(job, "--num_passes=2", "--save_dir=gpu", "--use_gpu=true", env=GPU)
        self.train(job, "--num_passes=4", "--start_pass=2", "--save_dir=gpu", "--use_gpu=true", env=GPU)
        self.paddle("compare", "cpu/pass-00003", "gpu/pass-00003", "--tolerance=1e-3")

    def test_is_refused_where_it_cannot_be(self):
        job = write_job(self)
        for flags, env, words in (
                ((), {"PADDLE_CUDA_DEVICE": "fast"}, ("PADDLE_CUDA_DEVICE is 'fast'",)),
                (("--gpu_id=2",), EMULATED, ("there is no emulated GPU 2", "0 to 1")),
                (("--job=checkgrad",), EMULATED, ("--job=checkgrad computes on the CPU",))):
            done = self.train(job, "--use_gpu=true", *flags, env=env, check=None)
            self.refused(done, 2, *words)

    def test_most_ops_have_a_kernel(self):
        out = self.paddle("list_layers", "--device=cuda", env=GPU).stdout
        with_kernel, of_all = map(int, re.match(r"(\d+) of (\d+) ops \(", out).groups())
        self.assertGreaterEqual(with_kernel, 0.9 * of_all, out)
        self.assertRegex(out, r"run on the CPU, between copies:(.|\n)* where_index\b")

    def test_a_dry_run_counts_a_step(self):
        """The numbers of a step of linear regression follow from its 13 inputs and batches of 20."""
        out = self.train("fit_a_line.json", "--job=time", "--dry_run").stdout
        self.assertIn("a step of 20 samples asks a GPU for\n", out)
        launches, products, flops = re.search(r"(\d+) launches, and (\d+) matrix products of ([\d.]+) million", out).groups()
        self.assertGreater(int(launches), int(products))
        self.assertEqual((int(products), float(flops)), (2, 0.0))
        self.assertIn(f"2 copies to it of {20 * 14 * 4 / 1e6:.3f} MB", out)
        self.assertIn(f"  {int(launches) + int(products)} of these in 1 recordings", out)
        self.assertIn("and 2 back of", out)  # the cost, and what the checks have found
        self.assertRegex(out, r"A100 .* (launches|transfer)\n")
        self.refused(self.train("fit_a_line.json", "--dry_run", check=None), 2, "--dry_run is for --job=time")

    def test_auto_takes_the_gpu_that_is_there(self):
        job = write_job(self)
        done = self.train(job, "--num_passes=1", "--use_gpu=auto", env=GPU)
        self.assertIn("computing on GPU 0 (", done.stderr)
        if not REAL:
            done = self.train(job, "--num_passes=1", "--use_gpu=auto")
            self.assertIn("computing on the CPU, as there is no GPU to compute on: ", done.stderr)

    def test_products_in_tf32_on_request(self):
        job = write_job(self)
        self.train(job, "--num_passes=2", "--save_dir=cpu")
        done = self.train(job, "--num_passes=2", "--save_dir=gpu", "--use_gpu=true", "--gpu_tf32=true", env=GPU)
        if not REAL:
            self.assertIn("(emulated, TF32)", done.stderr)
        self.paddle("compare", "cpu/pass-00001", "gpu/pass-00001", "--tolerance=0.02")

    @unittest.skipIf(REAL, "of the emulated device")
    def test_memory_that_is_not_there_and_kernels_that_fail(self):
        job = write_job(self)
        for wish, code, words in (
                ("memory=1000", 2, ("taking memory for ", "the emulated GPU has not enough memory for ", "take a smaller batch")),
                ("fail=200", 4, ("on the GPU, ", "a kernel of the emulated GPU failed")),
                ("refuse=90", 4, ("running ", "the GPU refused a kernel"))):
            with self.subTest(wish=wish):
                done = self.train(job, "--num_passes=9", "--use_gpu=true", env={**EMULATED, "PADDLE_EMULATED_GPU": wish}, check=None)
                self.refused(done, code, *words)

    @unittest.skipIf(REAL, "this machine has a GPU")
    def test_says_what_is_missing(self):
        self.assertIn("with_gpu: ON", self.paddle("version", env=EMULATED).stdout)
        done = self.train(write_job(self), "--use_gpu=true", check=None)
        self.refused(done, 2, "cannot compute on a GPU: ", "; compute on the CPU with --use_gpu=false")


class Modules(EndToEnd):
    """What is built of CUDA stays in modules that are loaded at run time."""

    def symbols(self, path, *flags):
        done = subprocess.run(["nm", "-D", *flags, path], capture_output=True, text=True, check=True)
        return [line.split()[-1].split("@")[0] for line in done.stdout.splitlines()]

    def test_programs_know_no_cuda(self):
        programs = [PADDLE] + glob.glob(os.path.join(BUILD, "python", "paddle", "_core*.so"))
        for program in programs:
            with self.subTest(program=program):
                of_cuda = [s for s in self.symbols(program) if re.match(r"_*(cuda[A-Z]|cublas|cudnn|cu[A-Z])", s)]
                self.assertEqual(of_cuda, [])
                done = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True)
                needed = re.findall(r"NEEDED.*\[(.*)\]", done.stdout)
                self.assertIn("libc.so.6", needed)
                self.assertEqual([n for n in needed if re.match(r"lib(cu|nv)", n)], [])

    def test_a_module_gives_one_function(self):
        modules = glob.glob(os.path.join(BUILD, "libcore", "kernels", "cuda", "libpaddle_cuda*.so"))
        self.assertTrue(modules)
        for module in modules:
            with self.subTest(module=module):
                self.assertEqual(self.symbols(module, "--defined-only"), ["paddle_gpu_module"])

    def test_what_nvcc_made_can_be_loaded(self):
        """With every symbol that it needs: of the whole module where it was built, else of its check."""
        there = [os.path.join(BUILD, "libcore", "kernels", "cuda", f"libpaddle_cuda{kind}.so") for kind in ("_check", "")]
        there = [path for path in there if os.path.exists(path)]
        if not there:
            self.skipTest("nvcc is not installed, so nothing was built with it")
        for path in there:
            with self.subTest(path=path):
                code = f"import ctypes, os; ctypes.CDLL({path!r}, mode=os.RTLD_NOW).paddle_gpu_module"
                subprocess.run([sys.executable, "-c", code], check=True)


class Trainers(EndToEnd):
    """Trainers of pservers: they compute on GPUs, pservers on the CPU."""

    def cluster(self, name, *flags, gpu=True, servers=2, trainers=2, optimizer="momentum"):
        """The job tests after each pass, with parameters that no step has pulled."""
        with open(write_job(self, f'{{"type": "{optimizer}", "learning_rate": 0.05}}')) as f:
            text = f.read()
        job = self.write("tests.json", text.replace('"files": "data.csv"', '"files": "data.csv", "test_files": "data.csv"'))
        made = Cluster(self, job, servers, trainers, name=name, server_flags=["--exit_when_done"],
                       trainer_flags=lambda i: ["--min_block_size=64", "--log_period=0", f"--event_file={name}{i}.jsonl",
                                                *(["--use_gpu=true"] if gpu else []), *flags])
        for t in made.trainers if gpu else []:
            t.env.update(GPU)
        return made

    def costs(self, events):
        with open(self.path(events)) as f:
            return [e["cost"] for e in map(json.loads, f) if e["event"] == "pass_ended"]

    def same_as_on_the_cpu(self, *flags, passes=3, **options):
        for name, gpu in (("cpu", False), ("gpu", True)):
            cluster = self.cluster(name, f"--num_passes={passes}", *flags, gpu=gpu, **options)
            cluster.run()
        for i, trainer in enumerate(cluster.trainers):
            self.assertRegex(trainer.log(), r"computing on GPU \d \(" if REAL else rf"computing on GPU {i} \(emulated\)")
            want, found = self.costs(f"cpu{i}.jsonl"), self.costs(f"gpu{i}.jsonl")
            self.assertEqual((len(want), len(found)), (passes, passes))
            for a, b in zip(want, found):
                self.assertAlmostEqual(a, b, delta=1e-5 * a)
        self.paddle("compare", "cpu0.jsonl", "gpu0.jsonl", "--tolerance=1e-5")  # tests too
        last = f"pass-{passes - 1:05d}"
        self.paddle("compare", f"cpuout/{last}", f"gpuout/{last}", "--tolerance=1e-4")

    def test_two_with_a_gpu_each(self):
        self.same_as_on_the_cpu()

    def test_geo_of_one(self):
        self.same_as_on_the_cpu("--geo_steps=7", trainers=1, optimizer="adam")

    def test_other_modes(self):
        for mode in ("async", "half_async"):
            with self.subTest(mode=mode):
                cluster = self.cluster(mode, f"--{mode}", "--num_passes=10", optimizer="sgd")
                cluster.run()
                for t in cluster.trainers:
                    self.assertLess(last_number(t.log(), r" Pass=\d+ Batch=\d+ samples=\d+ AvgCost="), 1.0, cluster.logs())

    def test_a_trainer_and_a_pserver_are_killed(self):
        flags = ("--num_passes=30", "--saving_period=1000")
        calm = self.cluster("calm", *flags).run()
        cluster = self.cluster("killed", *flags)
        cluster.server_flags = lambda i: ["--exit_when_done", f"--snapshot_dir={self.path(f'snapshots{i}')}", "--snapshot_period=20"]
        cluster.start()
        for victim, start, passed in ((cluster.servers[1], lambda: cluster.start_server(1), 3),
                                      (cluster.trainers[1], lambda: cluster.start_trainer(1), 10)):
            cluster.trainers[0].wait_line(rf"Pass={passed} ")
            victim.kill()
            start()
        same_model(self, calm, cluster.finish())


if __name__ == "__main__":
    main()
