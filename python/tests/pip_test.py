"""`pip wheel .`, and its wheel in a fresh virtual environment, without a network: the package works from there."""
import os
import shutil
import subprocess
import tempfile
import unittest

SOURCE = os.environ["PADDLE_TEST_SOURCE"]


def not_of_a_clone(directory, names):
    """What a fresh clone does not have: build directories and the like."""
    made = {"__pycache__"}
    if os.path.samefile(directory, SOURCE):
        made |= {n for n in names if n.startswith("build") or n in (".git", "workspace", "output", "log")}
    return made & set(names)


def missing():
    """What Debian's Python lacks to build the wheel without a network."""
    modules = {"mesonpy": "python3-mesonpy", "pip": "python3-pip", "ensurepip": "python3-venv"}
    return " ".join(package for module, package in modules.items()
                    if subprocess.run(["/usr/bin/python3", "-c", f"import {module}"], capture_output=True).returncode)


class PipInstall(unittest.TestCase):
    def run_program(self, *command, **kwargs):
        done = subprocess.run(command, capture_output=True, text=True, timeout=3000, **kwargs)
        self.assertEqual(done.returncode, 0, f"{' '.join(command)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
        return done.stdout

    @unittest.skipIf(missing(), f"needs {missing()} (scripts/setup watching)")
    def test_installed_package(self):
        with tempfile.TemporaryDirectory() as d:
            copy = os.path.join(d, "source")
            shutil.copytree(SOURCE, copy, ignore=not_of_a_clone)
            venv = os.path.join(d, "venv")
            self.run_program("/usr/bin/python3", "-m", "venv", "--system-site-packages", venv)
            python = os.path.join(venv, "bin", "python")
            env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")}
            env["CCACHE_BASEDIR"] = d
            self.run_program(python, "-m", "pip", "wheel", "--no-build-isolation", "--no-index", "--no-deps", "-w", d,
                             copy, env=env, cwd=d)
            shutil.move(copy, os.path.join(d, "moved"))  # the wheel needs nothing of where it was built
            copy = os.path.join(d, "moved")
            wheels = [name for name in os.listdir(d) if name.endswith(".whl")]
            self.assertEqual(len(wheels), 1, wheels)
            self.run_program(python, "-m", "pip", "install", "--no-index", os.path.join(d, wheels[0]), env=env, cwd=d)
            version = self.run_program(python, "-c", "import paddle; print(paddle.__version__)", env=env, cwd=d).strip()
            self.assertEqual(wheels[0].split("-")[1], version)
            said = self.run_program(os.path.join(venv, "bin", "paddle"), "version", env=env, cwd=d)
            self.assertIn(f"PaddlePaddle {version},", said)
            where = self.run_program(python, "-c", "import paddle, paddle.fluid, paddle.v2; print(paddle.__file__)",
                                     env=env, cwd=d)
            self.assertTrue(where.startswith(venv), where)
            script = os.path.join(copy, "python", "examples", "fit_a_line", "fluid_dist.py")
            out = self.run_program(python, script, env={**env, "PASSES": "2", "HOME": d}, cwd=d)
            self.assertIn("pass 1, mean loss", out)
            self.assertIn("usage: paddle", self.run_program(os.path.join(venv, "bin", "paddle"), "--help", env=env,
                                                            cwd=d))


if __name__ == "__main__":
    unittest.main()
