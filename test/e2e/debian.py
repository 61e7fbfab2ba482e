"""A Debian with systemd in a directory. scripts/test --full makes one by debootstrap, once, in the build directory;
PADDLE_TEST_SYSTEMD names another one."""
import fcntl
import os
import shutil
import subprocess

from support import BUILD

FULL = os.environ.get("PADDLE_TEST_FULL") == "1"
ROOT = os.environ.get("PADDLE_TEST_SYSTEMD", os.path.join(BUILD, "debian-root"))
PACKAGES = "systemd,systemd-sysv,dbus,iproute2,libboost-program-options1.81.0,libspdlog1.10,libprotobuf32"


def make(test):
    part = ROOT + ".part"
    shutil.rmtree(part, ignore_errors=True)
    made = subprocess.run(["debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", part], capture_output=True, text=True,
                          check=False)
    if made.returncode:
        shutil.rmtree(part, ignore_errors=True)
        test.skipTest("debootstrap could not make a Debian: " + made.stdout.strip()[-300:])
    os.rename(part, ROOT)


def copy_of_debian(test, name):
    """A copy in the directory of the test; skips the test where there can be none."""
    if os.geteuid() != 0:
        test.skipTest("needs root")
    with open(os.path.join(BUILD, "debian-root.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.isdir(ROOT):
            if not FULL or not shutil.which("debootstrap"):
                test.skipTest("needs a Debian in PADDLE_TEST_SYSTEMD; scripts/test --full makes one by debootstrap")
            make(test)
    subprocess.run(["cp", "-a", ROOT, test.path(name)], check=True)  # with its devices
    return test.path(name)
