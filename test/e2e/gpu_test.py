"""Jobs that compute on a GPU: on the emulated one, and refused where there is none."""
from cluster import write_job
from support import EndToEnd, main

EMULATED = {"PADDLE_CUDA_DEVICE": "emulated"}


class Gpu(EndToEnd):
    def train_both(self, config, *flags, tolerance=1e-5):
        self.train(config, *flags, "--event_file=cpu.jsonl", "--save_dir=cpu")
        done = self.train(config, *flags, "--event_file=gpu.jsonl", "--save_dir=gpu", "--use_gpu=true", env=EMULATED)
        self.assertIn("computing on GPU 0 (emulated)", done.stderr)
        self.paddle("compare", "cpu.jsonl", "gpu.jsonl", f"--tolerance={tolerance}")
        return done.stderr

    def test_digits_with_a_network_of_full_layers(self):
        log = self.train_both("recognize_digits_mlp.json", "--num_passes=1", "--config_args=hidden=16")
        self.assertNotIn("run on the CPU", log)  # every op has a kernel
        self.paddle("compare", "cpu/pass-00000", "gpu/pass-00000", "--tolerance=1e-3")

    def test_fit_a_line(self):
        self.train_both("fit_a_line.json", "--num_passes=2", tolerance=1e-3)  # costs of some hundred

    def test_dropout_and_momentum_go_on_from_a_saved_model(self):
        job = write_job(self)
        self.train(job, "--num_passes=4", "--save_dir=cpu")
        self.train(job, "--num_passes=2", "--save_dir=gpu", "--use_gpu=true", env=EMULATED)
        self.train(job, "--num_passes=4", "--start_pass=2", "--save_dir=gpu", "--use_gpu=true", env=EMULATED)
        self.paddle("compare", "cpu/pass-00003", "gpu/pass-00003", "--tolerance=1e-3")

    def test_is_refused_where_it_cannot_be(self):
        job = write_job(self)
        for flags, env, words in (
                ((), {"PADDLE_CUDA_DEVICE": "fast"}, ("PADDLE_CUDA_DEVICE is 'fast'",)),
                (("--local=false", "--pservers=127.0.0.1"), EMULATED, ("--use_gpu=true is for jobs of one process",)),
                (("--job=checkgrad",), EMULATED, ("--job=checkgrad computes on the CPU",))):
            done = self.train(job, "--use_gpu=true", *flags, env=env, check=None)
            self.refused(done, 2, *words)

    def test_says_what_is_missing(self):
        done = self.train(write_job(self), "--use_gpu=true", check=None)
        self.refused(done, 2, "cannot compute on a GPU", "libpaddle_cuda.so", "--use_gpu=false")


if __name__ == "__main__":
    main()
