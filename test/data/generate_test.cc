// Generated data must be learnable: simple models, trained here, find its structure.
#include "data/generate.h"

#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "data/support.h"

using namespace paddle;
using namespace paddle::test;

namespace {

// Softmax regression by plain stochastic gradient descent; returns the share of test digits it
// names.
double accuracy_on_digits() {
  constexpr size_t n = 784, classes = 10;
  std::vector<float> w((n + 1) * classes, 0.0f);
  const auto scores = [&](const float* x, float* s) {
    for (size_t c = 0; c < classes; ++c) s[c] = w[n * classes + c];
    for (size_t i = 0; i < n; ++i)
      for (size_t c = 0; c < classes; ++c) s[c] += x[i] * w[i * classes + c];
  };
  ReaderSpec spec;
  spec.format = "mnist";
  spec.shuffle = true;
  const auto train = open_reader(spec);
  float s[classes];
  Batch batch;
  for (uint64_t pass = 0; pass < 6; ++pass) {
    train->start_pass(pass);
    while (train->next(batch)) {
      const float* x = batch.fields[0].data<float>();
      scores(x, s);
      const float top = *std::max_element(s, s + classes);
      float sum = 0;
      for (float& v : s) sum += v = std::exp(v - top);
      for (float& v : s) v /= sum;
      s[batch.fields[1].data<int64_t>()[0]] -= 1;
      for (size_t i = 0; i < n; ++i)
        for (size_t c = 0; c < classes; ++c) w[i * classes + c] -= 0.003f * x[i] * s[c];
      for (size_t c = 0; c < classes; ++c) w[n * classes + c] -= 0.003f * s[c];
    }
  }
  spec.test = true;
  const auto test = open_reader(spec);
  int right = 0;
  while (test->next(batch)) {
    scores(batch.fields[0].data<float>(), s);
    right += std::max_element(s, s + classes) - s == batch.fields[1].data<int64_t>()[0];
  }
  return right / static_cast<double>(test->records());
}

}  // namespace

TEST_CASE("generated digits can be told apart by a linear model", "[data]") {
  const double accuracy = accuracy_on_digits();
  INFO(accuracy);
  CHECK(accuracy > 0.9);  // a hidden layer does better still
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
