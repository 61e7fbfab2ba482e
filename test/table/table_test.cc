// Pulls and pushes of a table against a plain map and against the rules of optim on dense arrays.
#include "table/table.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "base/error.h"
#include "support.h"
#include "table/row_sum.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

const float rate = 0.125f;

// One row as a dense parameter with its own states, updated by optim.
struct DenseRow {
  std::vector<float> values;
  std::vector<std::vector<float>> states;
};

class Model {
 public:
  explicit Model(const TableOptions& o) : options_(o), rule_(*optim::find_rule(o.rule)), pool_(1) {}

  void push(const std::vector<uint64_t>& ids, const std::vector<float>& grads, uint64_t step) {
    for (size_t i = 0; i < ids.size(); ++i) {
      DenseRow& row = at(ids[i]);
      std::vector<float*> states;
      for (auto& s : row.states) states.push_back(s.data());
      std::vector<float> grad(grads.begin() + static_cast<long>(i) * options_.width,
                              grads.begin() + static_cast<long>(i + 1) * options_.width);
      for (size_t j = 0; options_.l2 != 0 && j < grad.size(); ++j) {
        const volatile float decay = options_.l2 * row.values[j];  // rounded before it is added
        grad[j] += decay;
      }
      optim::apply_dense(rule_, {pool_, numbers(step), row.values.data(), states}, grad.data(),
                         options_.width);
    }
  }
  DenseRow& at(uint64_t id) {
    auto [it, made] = rows_.try_emplace(id);
    if (made) {
      it->second.values.resize(static_cast<size_t>(options_.width));
      init_row(options_.init, init_key(options_.seed, options_.name), id, options_.width,
               it->second.values.data());
      it->second.states.assign(rule_.states.size(),
                               std::vector<float>(static_cast<size_t>(options_.width)));
    }
    return it->second;
  }
  const std::map<uint64_t, DenseRow>& rows() const { return rows_; }

 private:
  float setting(const std::string& name) const {
    for (const auto& [given, value] : options_.settings)
      if (given == name) return value;
    for (const optim::Setting& s : rule_.settings)
      if (s.name == name)
        return std::visit([](auto v) { return static_cast<float>(v); }, s.fallback);
    return 0;
  }
  std::vector<float> numbers(uint64_t step) const {
    std::vector<float> out;
    if (rule_.takes_rate) out.push_back(rate);
    for (const optim::Power& p : rule_.powers) {
      const float base = setting(p.setting);
      float value = base;
      for (uint64_t k = 0; k < step; ++k) value *= base;
      out.push_back(value);
    }
    for (const optim::Setting& s : rule_.settings) out.push_back(setting(s.name));
    return out;
  }

  TableOptions options_;
  const optim::Rule& rule_;
  ThreadPool pool_;
  std::map<uint64_t, DenseRow> rows_;
};

void check_equal(const Table& table, Model& model) {
  REQUIRE(table.rows() == model.rows().size());
  for (const auto& [id, row] : model.rows()) {
    const std::optional<Table::Row> got = table.find(id);
    REQUIRE(got);
    REQUIRE(same_bits(got->values, row.values));
    const auto width = static_cast<size_t>(table.options().width);
    for (size_t s = 0; s < got->states.size(); ++s)
      REQUIRE(std::memcmp(&got->states[s], &row.states[s / width][s % width], 4) == 0);
  }
}

}  // namespace

TEST_CASE("every rule on rows has the bits of the rule on a dense array", "[table]") {
  for (const optim::Rule& rule : optim::rules())
    for (const int64_t width : {1, 7, 16, 33})
      for (const float l2 : {0.0f, 0.01f}) {
        CAPTURE(rule.type, width, l2);
        TableOptions o = small_table(rule.type, width);
        o.l2 = l2;
        Table table(o);
        Model model(o);
        for (uint64_t step = 0; step < 6; ++step) {
          const auto ids = distinct_ids(step, 70, 100);
          const auto grads = gradients(ids, width, step);
          table.push(ids, grads.data(), rate, step);
          model.push(ids, grads, step);
        }
        check_equal(table, model);
      }
}

TEST_CASE("centered rmsprop has a third state, and settings go by name", "[table]") {
  TableOptions o = small_table("rmsprop");
  CHECK(Table(o).rows() == 0);
  o.settings = {{"centered", 1.0f}, {"decay", 0.5f}};
  Table table(o);
  Model model(o);
  for (uint64_t step = 0; step < 4; ++step) {
    const auto ids = distinct_ids(step, 20, 40);
    const auto grads = gradients(ids, 5, step);
    table.push(ids, grads.data(), rate, step);
    model.push(ids, grads, step);
  }
  check_equal(table, model);
  CHECK(table.find(distinct_ids(0, 20, 40)[0])->states.size() == 15);
  o.settings = {{"rho", 0.5f}};
  CHECK_THROWS_WITH(Table(o), Contains("has no setting 'rho'; it has: epsilon, decay"));
  o.rule = "sgdx";
  CHECK_THROWS_WITH(Table(o), Contains("the optimizer 'sgdx', which does not exist"));
}

TEST_CASE("row-wise adagrad follows its formula", "[table]") {
  TableOptions o = small_table("rowwise_adagrad", 37);
  o.settings = {{"initial_accumulator_value", 0.5f}};
  Table table(o);
  const std::vector<uint64_t> ids{9, 4};
  std::vector<double> expected[2];
  double moment[2] = {0.5, 0.5};
  std::vector<float> first(2 * 37);
  table.pull(ids, first.data());
  for (size_t i = 0; i < 2; ++i)
    expected[i].assign(first.begin() + static_cast<long>(i) * 37,
                       first.begin() + static_cast<long>(i + 1) * 37);
  for (uint64_t step = 0; step < 5; ++step) {
    const auto grads = gradients(ids, 37, step);
    table.push(ids, grads.data(), rate, step);
    for (size_t i = 0; i < 2; ++i) {
      double squares = 0;
      for (size_t j = 0; j < 37; ++j) squares += std::pow(double(grads[i * 37 + j]), 2);
      moment[i] += squares / 37;
      for (size_t j = 0; j < 37; ++j)
        expected[i][j] -= rate * double(grads[i * 37 + j]) / (std::sqrt(moment[i]) + 1e-6);
    }
  }
  for (size_t i = 0; i < 2; ++i) {
    const auto row = table.find(ids[i]);
    REQUIRE(row->states.size() == 1);
    CHECK(row->states[0] == Approx(moment[i]).epsilon(1e-5));
    CHECK(row->step == 4);
    CHECK(row->count == 5);
    for (size_t j = 0; j < 37; ++j) CHECK(row->values[j] == Approx(expected[i][j]).margin(1e-5));
  }
}

TEST_CASE("a pull makes no row and gives the values that a row begins with", "[table]") {
  Table table(small_table());
  const std::vector<uint64_t> ids{0, ~uint64_t{0}, 77};
  std::vector<float> got(15), again(15);
  table.pull(ids, got.data());
  CHECK(table.rows() == 0);
  const std::vector<float> zero(15, 0.0f);
  table.push(ids, zero.data(), rate, 0);
  CHECK(table.rows() == 3);
  table.pull(ids, again.data());
  CHECK(same_bits(got, again));
}

TEST_CASE("bits do not depend on the order of ids nor on the number of shards", "[table]") {
  const TableOptions o = small_table("adam", 6);
  Table whole(o);
  for (const uint32_t shards : {1u, 2u, 5u}) {
    std::vector<std::unique_ptr<Table>> parts;
    for (uint32_t s = 0; s < shards; ++s) parts.push_back(std::make_unique<Table>(o));
    for (uint64_t step = 0; step < 5; ++step) {
      auto ids = distinct_ids(step, 3000, 5000);
      if (shards == 1) {
        const auto grads = gradients(ids, 6, step);
        whole.push(ids, grads.data(), rate, step);
      }
      std::reverse(ids.begin(), ids.end());
      std::vector<std::vector<uint64_t>> per(shards);
      for (const uint64_t id : ids) per[shard_of(id, shards)].push_back(id);
      for (uint32_t s = 0; s < shards; ++s) {
        const auto grads = gradients(per[s], 6, step);
        parts[s]->push(per[s], grads.data(), rate, step);
      }
    }
    uint64_t digest = 0;
    size_t rows = 0;
    for (const auto& p : parts) {
      digest += p->digest();
      rows += p->rows();
    }
    CHECK(rows == whole.rows());
    CHECK(digest == whole.digest());
  }
  const uint64_t before = whole.digest();
  const std::vector<float> grad(6, 1e-3f);
  const std::vector<uint64_t> one{distinct_ids(0, 3000, 5000)[0]};
  whole.push(one, grad.data(), rate, 5);
  CHECK(whole.digest() != before);
}

TEST_CASE("shards get equal parts of any ids", "[table]") {
  for (const uint32_t shards : {2u, 3u, 7u}) {
    std::vector<double> count(shards);
    for (uint64_t id = 0; id < 70000; ++id) ++count[shard_of(id * 1024, shards)];
    for (const double c : count) CHECK(c == Approx(70000.0 / shards).epsilon(0.05));
  }
}

TEST_CASE("bf16 values round to the nearest and keep a float state", "[table]") {
  CHECK(to_bf16(1.0f) == 0x3f80);
  CHECK(to_bf16(1.00390625f) == 0x3f80);  // a tie goes to even
  CHECK(to_bf16(1.01171875f) == 0x3f82);  // so does this one
  CHECK(to_bf16(-3.4e38f) == 0xff80);     // beyond the largest
  CHECK(std::isnan(from_bf16(to_bf16(std::nanf("")))));
  TableOptions o = small_table("adagrad", 5);
  o.bf16 = true;
  Table table(o);
  o.bf16 = false;
  Table full(o);
  const auto ids = distinct_ids(1, 100, 1000);
  for (uint64_t step = 0; step < 10; ++step) {
    const auto grads = gradients(ids, 5, step);
    table.push(ids, grads.data(), rate, step);
    full.push(ids, grads.data(), rate, step);
  }
  std::vector<float> halves(500), floats(500);
  table.pull(ids, halves.data());
  full.pull(ids, floats.data());
  for (size_t i = 0; i < 500; ++i) {
    CHECK(halves[i] == Approx(floats[i]).margin(0.01));
    CHECK(from_bf16(to_bf16(halves[i])) == halves[i]);
  }
  for (const uint64_t id : ids) CHECK(same_bits(table.find(id)->states, full.find(id)->states));
}

TEST_CASE("the version before a round stays readable until the next", "[table]") {
  const TableOptions o = small_table("adagrad");
  Table table(o);
  const auto ids = distinct_ids(3, 200, 300);
  std::vector<float> before(1000), got(1000), now(1000);
  for (uint64_t step = 0; step < 4; ++step) {
    table.pull(ids, before.data());
    table.begin_round(step);
    const std::vector<uint64_t> touched(ids.begin(),
                                        ids.begin() + 50 * static_cast<long>(step + 1));
    const auto grads = gradients(touched, 5, step);
    table.push(touched, grads.data(), rate, step);
    table.pull_before(ids, got.data());
    CHECK(same_bits(before, got));
    table.pull(ids, now.data());
    CHECK_FALSE(same_bits(before, now));
  }
}

TEST_CASE("values are replaced and state is kept", "[table]") {
  Table table(small_table("adagrad", 2));
  const std::vector<float> grads = {1, 2}, values = {5, 6, 7, 8};
  table.push(std::vector<uint64_t>{4}, grads.data(), 0.5f, 0);
  const auto before = table.find(4)->states;
  CHECK(before == std::vector<float>{1, 4});
  table.begin_round(1);
  const std::vector<uint64_t> ids = {4, 9};
  table.replace(ids, values.data(), 1);
  CHECK(table.find(4)->values == std::vector<float>{5, 6});
  CHECK(table.find(4)->states == before);
  CHECK(table.find(4)->count == 2);
  CHECK(table.find(4)->step == 1);
  CHECK(table.find(9)->values == std::vector<float>{7, 8});
  CHECK(table.find(9)->states == std::vector<float>{0, 0});
  std::vector<float> old(4);
  table.pull_before(ids, old.data());
  CHECK(old[0] != 5);
  table.assign(ids, values.data(), 2);
  CHECK(table.find(4)->states == std::vector<float>{0, 0});
}

TEST_CASE("a table names the rows that changed", "[table]") {
  Table table(small_table());
  const std::vector<float> grads(10, 1.0f);
  const std::vector<uint64_t> first{1, 2}, second{2, 3};
  table.push(first, grads.data(), rate, 0);
  table.push(second, grads.data(), rate, 1);
  std::vector<uint64_t> changed;
  table.each_changed_since(1, [&](uint64_t id) { changed.push_back(id); });
  std::sort(changed.begin(), changed.end());
  CHECK(changed == second);
}

TEST_CASE("gradients of a round are added in the order of trainers", "[table]") {
  RowSum sum(5);
  std::map<uint64_t, std::vector<float>> expected;
  for (uint64_t round = 0; round < 3; ++round) {
    expected.clear();
    for (uint64_t trainer = 0; trainer < 4; ++trainer) {
      const auto ids = distinct_ids(trainer, 300, 600);
      const auto grads = gradients(ids, 5, round * 10 + trainer);
      sum.add(ids, grads.data());
      for (size_t i = 0; i < ids.size(); ++i) {
        auto [it, first] = expected.try_emplace(ids[i], 5, 0.0f);
        for (size_t j = 0; j < 5; ++j)
          it->second[j] = first ? grads[i * 5 + j] : it->second[j] + grads[i * 5 + j];
      }
    }
    std::vector<uint64_t> ids;
    std::vector<float> grads;
    sum.take(0.25f, ids, grads);
    REQUIRE(ids.size() == expected.size());
    for (size_t i = 0; i < ids.size(); ++i)
      for (size_t j = 0; j < 5; ++j) REQUIRE(grads[i * 5 + j] == 0.25f * expected.at(ids[i])[j]);
    CHECK(sum.rows() == 0);
  }
}
