// Generated data must be learnable: simple models, trained here, find its structure.
#include "data/generate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "base/random.h"
#include "data/generate_clicks.h"
#include "data/support.h"

using namespace paddle;
using namespace paddle::test;

namespace {

// A perceptron with one hidden layer, trained by plain stochastic gradient descent.
class Perceptron {
 public:
  Perceptron() {
    const RandomStream random(7, 0);
    for (size_t i = 0; i < w1_.size(); ++i) w1_[i] = 0.1f * (random.uniform(i) - 0.5f);
    for (size_t i = 0; i < w2_.size(); ++i) w2_[i] = 0.3f * (random.uniform(~i) - 0.5f);
  }
  int64_t guess(const float* x) {
    forward(x);
    return std::max_element(out_.begin(), out_.end()) - out_.begin();
  }
  void learn(const float* x, int64_t label) {
    const float top = out_[static_cast<size_t>(guess(x))];
    float sum = 0;
    for (float& v : out_) sum += v = std::exp(v - top);
    for (float& v : out_) v /= sum;
    out_[static_cast<size_t>(label)] -= 1;
    std::array<float, hidden> back{};
    for (size_t h = 0; h < hidden; ++h)
      for (size_t c = 0; c < classes; ++c) {
        if (hidden_[h] > 0) back[h] += w2_[h * classes + c] * out_[c];
        w2_[h * classes + c] -= rate * hidden_[h] * out_[c];
      }
    for (size_t i = 0; i < inputs; ++i)
      for (size_t h = 0; h < hidden; ++h) w1_[i * hidden + h] -= rate * x[i] * back[h];
  }

 private:
  static constexpr size_t inputs = 784, hidden = 48, classes = 10;
  static constexpr float rate = 0.005f;

  void forward(const float* x) {
    hidden_.fill(0);
    out_.fill(0);
    for (size_t i = 0; i < inputs; ++i)
      for (size_t h = 0; h < hidden; ++h) hidden_[h] += x[i] * w1_[i * hidden + h];
    for (size_t h = 0; h < hidden; ++h) {
      hidden_[h] = std::max(hidden_[h], 0.0f);
      for (size_t c = 0; c < classes; ++c) out_[c] += hidden_[h] * w2_[h * classes + c];
    }
  }
  std::vector<float> w1_ = std::vector<float>(inputs * hidden);
  std::vector<float> w2_ = std::vector<float>(hidden * classes);
  std::array<float, hidden> hidden_;
  std::array<float, classes> out_;
};

}  // namespace

TEST_CASE("generated digits are learnt by a perceptron", "[data]") {
  ReaderSpec spec;
  spec.format = "mnist";
  spec.shuffle = true;
  const auto train = open_reader(spec);
  spec.test = true;
  const auto test = open_reader(spec);
  Perceptron model;
  Batch batch;
  for (uint64_t pass = 0; pass < 2; ++pass) {
    train->start_pass(pass);
    while (train->next(batch))
      model.learn(batch.fields[0].data<float>(), batch.fields[1].data<int64_t>()[0]);
  }
  int right = 0;
  while (test->next(batch))
    right += model.guess(batch.fields[0].data<float>()) == batch.fields[1].data<int64_t>()[0];
  INFO(right << " of 1000");
  CHECK(right > 950);
}

TEST_CASE("generated digits differ, and repeat with the seed", "[data]") {
  const Digits a = generate_digits(1, 0, 200), b = generate_digits(1, 100, 100);
  CHECK(std::equal(b.pixels.begin(), b.pixels.end(), a.pixels.begin() + 100 * 784));
  CHECK(std::set<int>(a.labels.begin(), a.labels.end()).size() == 10);
  CHECK(generate_digits(2, 0, 200).pixels != a.pixels);
  double mean = 0;
  for (const uint8_t p : a.pixels) mean += p / 255.0 / static_cast<double>(a.pixels.size());
  CHECK(mean > 0.05);
  CHECK(mean < 0.3);
}

TEST_CASE("generated houses follow a linear model", "[data]") {
  ReaderSpec spec;
  spec.format = "uci_housing";
  spec.shuffle = true;
  const auto reader = open_reader(spec);
  std::array<double, 14> w{};
  Batch batch;
  double error = 0, sum = 0, squares = 0;
  for (uint64_t pass = 0; pass < 200; ++pass) {
    reader->start_pass(pass);
    error = sum = squares = 0;
    while (reader->next(batch)) {
      const float* x = batch.fields[0].data<float>();
      const double y = batch.fields[1].data<float>()[0];
      double d = w[13] - y;
      for (size_t i = 0; i < 13; ++i) d += w[i] * x[i];
      for (size_t i = 0; i < 13; ++i) w[i] -= 0.02 * d * x[i];
      w[13] -= 0.02 * d;
      error += d * d / 404;
      sum += y / 404;
      squares += y * y / 404;
    }
  }
  const double variance = squares - sum * sum;
  INFO(error << " of " << variance << ", mean " << sum);
  CHECK(error < variance / 4);
  CHECK(error < 10);  // where the first demo of every tutorial stops
  CHECK(sum > 15);
  CHECK(sum < 30);
}

TEST_CASE("generated sentences have a Zipf tail and a grammar", "[data]") {
  const auto lines = generate_sentences(1, 10000);
  std::map<std::string, int> counts;
  std::map<std::string, std::map<std::string, int>> pairs;
  int words = 0;
  for (const std::string& line : lines) {
    std::istringstream in(line);
    std::string last;
    for (std::string word; in >> word; last = word, ++words) {
      ++counts[word];
      if (!last.empty()) ++pairs[last][word];
    }
  }
  CHECK(counts.size() > 1500);
  CHECK(counts.size() <= 2000);
  int top = 0, guessed = 0, all_pairs = 0;
  for (const auto& [word, n] : counts) top = std::max(top, n);
  CHECK(top > words / 50);
  for (const auto& [word, next] : pairs) {
    int best = 0;
    for (const auto& [other, n] : next) {
      best = std::max(best, n);
      all_pairs += n;
    }
    guessed += best;
  }
  INFO(guessed << " of " << all_pairs << ", most frequent " << top << " of " << words);
  CHECK(guessed > all_pairs / 4);                                // knowing the word before …
  CHECK(guessed / double(all_pairs) > 2 * top / double(words));  // … beats guessing the commonest
}

TEST_CASE("generated binary rows follow a logistic model", "[data]") {
  std::array<double, 124> w{};
  const auto train = generate_binary_rows(1, 0, 20000), test = generate_binary_rows(1, 20000, 5000);
  const auto score = [&](const BinaryRow& row) {
    double s = w[123];
    for (const int id : row.ids) s += w[static_cast<size_t>(id)];
    return s;
  };
  for (int pass = 0; pass < 5; ++pass)
    for (const BinaryRow& row : train) {
      const double d = 1 / (1 + std::exp(-score(row))) - row.positive;
      for (const int id : row.ids) w[static_cast<size_t>(id)] -= 0.02 * d;
      w[123] -= 0.02 * d;
    }
  int right = 0, positive = 0;
  for (const BinaryRow& row : test) {
    right += (score(row) > 0) == row.positive;
    positive += row.positive;
  }
  INFO(right << " right of 5000, " << positive << " positive");
  CHECK(right > 5000 - positive + 150);  // better than always saying no
  CHECK(right > 3750);
}

TEST_CASE("generate: click logs have a known attainable AUC", "[data]") {
  SECTION("of pairs in the right order, by hand") {
    // Two records: the pair counts where the labels differ.
    CHECK(expected_auc({0.2, 0.8}) == Approx(0.8 * 0.8 / (0.8 * 0.8 + 0.2 * 0.2)));
    CHECK(expected_auc({0.3, 0.3, 0.3}) == Approx(0.5));
    CHECK(expected_auc({0, 0, 1}) == Approx(1));
  }
  const ClickModel model(1);
  constexpr uint64_t count = 40000;
  std::vector<double> all;
  std::vector<std::pair<double, bool>> drawn;
  double clicks = 0, probability = 0;
  uint64_t frequent = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const Click c = model.record(i);
    drawn.emplace_back(c.probability, c.label);
    clicks += c.label;
    probability += c.probability;
    frequent += c.ranks[0] == 1;
    CHECK(c.ranks[5] <= 3);
  }
  // Labels agree with the probabilities they were drawn from: mean, and AUC counted by ranks.
  CHECK(clicks / count == Approx(probability / count).margin(0.01));
  CHECK(clicks / count > 0.1);
  CHECK(clicks / count < 0.5);
  std::sort(drawn.begin(), drawn.end());
  double right = 0, negatives = 0;
  for (const auto& [p, label] : drawn) {
    if (label)
      right += negatives;
    else
      ++negatives;
  }
  const double counted = right / negatives / (count - negatives);
  CHECK(attainable_auc(1, 0, count) == Approx(counted).margin(0.006));
  CHECK(counted > 0.75);
  CHECK(counted < 0.9);
  CHECK(frequent > count / 20);  // Zipf: the first of a million values is frequent
}
