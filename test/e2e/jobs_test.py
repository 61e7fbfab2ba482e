"""The ready jobs train, on real data and on generated data. With --full in the environment they reach their quality."""
import os
import re
import unittest

from support import DATA, EndToEnd, last_number, main, needs_real_data

FULL = os.environ.get("PADDLE_TEST_FULL") == "1"


class Generated(EndToEnd):
    """Where no data set is found, data of the same shape is made, and a line says so."""

    def check(self, config, *flags):
        done = self.train(config, *flags)
        self.assertIn("generated from seed", done.stderr)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_fit_a_line(self):
        self.assertLess(last_number(self.check("fit_a_line.json"), "Test samples=102 cost="), 40)

    def test_digits_mlp(self):
        self.assertGreater(last_number(self.check("recognize_digits_mlp.json", "--num_passes=3"), "accuracy="), 0.9)

    def test_digits_conv(self):
        self.assertGreater(last_number(self.check("recognize_digits_conv.json", "--num_passes=1"), "accuracy="), 0.9)

    def test_word2vec(self):
        log = self.check("word2vec.json", "--num_passes=1", "--log_period=50")
        first = float(log.split("AvgCost=")[1].split()[0])
        self.assertLess(last_number(log, "Test samples=[0-9]+ cost="), first)

    def test_ctr_lr(self):
        self.assertGreater(last_number(self.check("ctr_lr.json", "--num_passes=3"), "auc="), 0.7)

    def test_word2vec_nce(self):
        log = self.check("word2vec_nce.json", "--num_passes=1", "--log_period=50")
        first = float(log.split("AvgCost=")[1].split()[0])
        self.assertLess(last_number(log, "Test samples=[0-9]+ cost="), 0.6 * first)

    @unittest.skipUnless(FULL, "runs with scripts/test --full")
    def test_models_of_clicks(self):
        """Each reaches the best AUC that is possible but for what its line says."""
        for config, gap in (("wide_deep", 0.025), ("deepfm", 0.03), ("dcn", 0.025), ("din", 0.03)):
            with self.subTest(config):
                log = self.check(config + ".json", *([] if config == "din" else ["--config_args=hash_size=100001"]))
                best = float(re.search(r"20000 records generated .* can reach is (0\.\d+)", log)[1])
                auc = last_number(log, "Test samples=20000 cost=[0-9.e-]+ Eval: auc=")
                self.assertGreater(auc, best - gap)
                self.assertLess(auc, best + 0.005)

    def test_ctr_dnn(self):
        """Reaches the best AUC that is possible but for 0.02 after one pass."""
        log = self.check("ctr_dnn.json", "--config_args=hash_size=100001")
        best = float(re.search(r"20000 records generated .* can reach is (0\.\d+)", log)[1])
        self.assertGreater(best, 0.8)
        auc = last_number(log, "Test samples=20000 cost=[0-9.e-]+ Eval: auc=")
        self.assertGreater(auc, best - 0.02)
        self.assertLess(auc, best + 0.005)


@needs_real_data
class Real(EndToEnd):
    def check(self, config, *flags):
        done = self.train(config, f"--data_dir={DATA}", *flags)
        self.assertNotIn("generated", done.stderr)
        return done.stderr

    def test_fit_a_line_reaches_25(self):
        self.assertLess(last_number(self.check("fit_a_line.json"), "Test samples=102 cost="), 25)

    def test_digits_mlp(self):
        passes, goal = (12, 0.975) if FULL else (2, 0.95)
        log = self.check("recognize_digits_mlp.json", f"--num_passes={passes}")
        self.assertGreaterEqual(last_number(log, "Test samples=10000 cost=[0-9.e-]+ Eval: accuracy="), goal)

    @unittest.skipUnless(FULL, "minutes; runs with scripts/test --full")
    def test_digits_conv(self):
        log = self.check("recognize_digits_conv.json")
        self.assertGreaterEqual(last_number(log, "Test samples=10000 cost=[0-9.e-]+ Eval: accuracy="), 0.988)

    @unittest.skipUnless(FULL, "minutes; runs with scripts/test --full")
    def test_word2vec_falls_below_60_percent(self):
        log = self.check("word2vec.json", "--log_period=1", "--num_passes=${passes}".replace("${passes}", "6"))
        first = float(log.split("CurrentCost=")[1].split()[0])
        self.assertLess(last_number(log, "Pass=[0-9]+ Batch=[0-9]+ samples=[0-9]+ AvgCost="), 0.6 * first)

    def test_a9a_auc(self):
        passes, goal = (10, 0.90) if FULL else (3, 0.895)
        log = self.check("ctr_lr.json", f"--num_passes={passes}")
        self.assertGreaterEqual(last_number(log, "Test samples=16281 cost=[0-9.e-]+ Eval: auc="), goal)


if __name__ == "__main__":
    main()
