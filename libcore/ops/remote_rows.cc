// Rows of sparse tables in a plan. pull_rows stands before the first lookup of a table and
// push_rows behind its gradient; between them lookups read a small matrix by the numbers of their
// ids.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernels/distinct.h"
#include "kernels/memory.h"
#include "kernels/rows.h"
#include "ops/common.h"

namespace paddle {
namespace {

Remote& keeper_of(const Run& r) {
  require(r.remote != nullptr, Error::Kind::config,
          "this program looks up rows of tables that pservers keep, but none are connected: run it "
          "in a trainer with --pservers, or run the program that was cut");
  return *r.remote;
}

// Row 0 of Rows belongs to padding, which is never read.
void infer_pull_rows(Infer& i) {
  i.check(i.count_out("Numbers") == i.count("Ids"), "there are ", i.count("Ids"),
          " lists of Ids, but ", i.count_out("Numbers"), " outputs for their numbers");
  int64_t total = 0;
  for (int k = 0; k < i.count("Ids"); ++k) {
    i.check(i.dtype("Ids", k) == DType::i64, "Ids must be int64, found ",
            name_of(i.dtype("Ids", k)), " in ", i.describe("Ids", k));
    const int64_t n = i.shape("Ids", k).numel();
    total = n < 0 || total < 0 ? -1 : total + n;
    i.out("Numbers", i.shape("Ids", k), DType::i64, k);
    Meta& numbers = i.out_meta("Numbers", k);
    numbers.lod = i.in("Ids", k).lod;
    numbers.lod_level = i.in("Ids", k).lod_level;
  }
  i.check(total < (int64_t{1} << 32) - 1, "a batch looks up at most 2^32 - 2 ids, found ", total);
  i.check(i.attr<Longs>("paddings").size() == static_cast<size_t>(i.count("Ids")),
          "there must be a padding for each of Ids");
  i.out("Rows", {total < 0 ? -1 : total + 1, i.attr<int64_t>("width")}, DType::f32);
  i.out("Distinct", {total}, DType::i64);
  i.out("Count", {1}, DType::i64);
}

// What was made of ids that were announced: the run that brings them need not number them again.
class AnnouncedIds {
 public:
  // `each_list` shows every list of ids, with its numbers.
  template <class EachList>
  void keep(const EachList& each_list, std::span<const int64_t> distinct) {
    Entry& e = entries_[next_++ % entries_.size()];
    e.lengths.clear();
    e.ids.clear();
    e.numbers.clear();
    each_list([&](std::span<const int64_t> ids, std::span<int64_t> numbers) {
      e.lengths.push_back(ids.size());
      e.ids.insert(e.ids.end(), ids.begin(), ids.end());
      e.numbers.insert(e.numbers.end(), numbers.begin(), numbers.end());
    });
    e.distinct.assign(distinct.begin(), distinct.end());
  }
  // Whether these ids were kept: then their numbers and the distinct ones are written.
  template <class EachList>
  std::optional<int64_t> take(const Run& r, const EachList& each_list, int64_t* distinct) const {
    for (const Entry& e : entries_) {
      bool same = !e.ids.empty();
      size_t list = 0, at = 0;
      each_list([&](std::span<const int64_t> ids, std::span<int64_t>) {
        same = same && ids.size() == e.lengths[list++] &&
               std::equal(ids.begin(), ids.end(), e.ids.data() + at);
        at += ids.size();
      });
      if (!same) continue;
      const int64_t* from = e.numbers.data();
      each_list([&](std::span<const int64_t>, std::span<int64_t> numbers) {
        copy(r, static_cast<int64_t>(numbers.size()), numbers.data(), from);
        from += numbers.size();
      });
      const auto count = static_cast<int64_t>(e.distinct.size());
      copy(r, count, distinct, e.distinct.data());
      return count;
    }
    return {};
  }

 private:
  struct Entry {
    std::vector<size_t> lengths;                  // of the lists
    std::vector<int64_t> ids, distinct, numbers;  // of all lists, one behind the other
  };
  std::array<Entry, 2> entries_;  // of the next run and of the one behind it
  size_t next_ = 0;
};

struct PullRows {
  Arg ids, rows, distinct, count, numbers;
  int32_t table;
  int64_t width, height;
  std::string name;
  Names id_names;
  Longs paddings;
  std::shared_ptr<AnnouncedIds> announced = std::make_shared<AnnouncedIds>();  // of this binding

  explicit PullRows(const Bind& b)
      : ids(b.in("Ids")),
        rows(b.out("Rows")),
        distinct(b.out("Distinct")),
        count(b.out("Count")),
        numbers(b.out("Numbers")),
        table(b.attr<int32_t>("table")),
        width(b.attr<int64_t>("width")),
        height(b.attr<int64_t>("height")),
        name(b.attr<std::string>("name")),
        id_names(b.op().in["Ids"]),
        paddings(b.attr<Longs>("paddings")) {}

  std::optional<int64_t> padding(int k) const {
    const int64_t id = paddings[static_cast<size_t>(k)];
    return id == -1 ? std::nullopt : std::optional(id);
  }

  void check(const Run& r, int k) const {
    const View& v = r.at(ids, k);
    const auto u = static_cast<size_t>(k);
    const int64_t bad = height < 0 ? -1
                                   : first_bad_id(r, v.as<const int64_t>(), v.numel(), height,
                                                  padding(k).value_or(0));
    if (bad < 0) [[likely]]
      return;
    throw Error(Error::Kind::data, "the id ", read_one(r, v.as<const int64_t>() + bad),
                " at position ", bad, " of '", id_names[u], "' ", v.shape,
                " is outside of the table '", name, "', which has rows 0 to ", height - 1,
                ": correct the data, enlarge the table, or give it the size [-1, ", width,
                "], which takes any id");
  }

  // Without memory for rows the ids are only announced (exec/announce.cc).
  void operator()(const Run& r) const {
    int64_t total = 0;
    for (int k = 0; k < ids.count; ++k) total += r.at(ids, k).numel();
    const auto each_list = [&](const auto& use) {
      for (int k = 0; k < ids.count; ++k) {
        const View& v = r.at(ids, k);
        const auto n = static_cast<size_t>(v.numel());
        use(std::span(v.as<const int64_t>(), n), std::span(r.at(numbers, k).as<int64_t>(), n));
      }
    };
    auto* found = r[distinct].as<int64_t>();
    Remote& keeper = keeper_of(r);
    std::optional<int64_t> known;
    if (keeper.takes_announcements()) known = announced->take(r, each_list, found);
    const int64_t n = known ? *known : number_all(r, total, found);
    float* to = r[rows].data == nullptr ? nullptr : r[rows].as<float>() + width;
    if (to == nullptr) announced->keep(each_list, {found, static_cast<size_t>(n)});
    write_one(r, n, r[count].as<int64_t>());
    keeper.pull_rows(table, {reinterpret_cast<const uint64_t*>(found), static_cast<size_t>(n)}, to,
                     r.step());
  }

  // Writes the numbers of all ids, and the distinct ones; how many these are.
  int64_t number_all(const Run& r, int64_t total, int64_t* found) const {
    void* scratch = r.scratch.get<char>(static_cast<int64_t>(id_numbers_bytes(total)));
    IdNumbers all(total, scratch, found);
    for (int k = 0; k < ids.count; ++k) {
      check(r, k);
      all.add(r, r.at(ids, k).as<const int64_t>(), r.at(ids, k).numel(), padding(k),
              r.at(numbers, k).as<int64_t>());
    }
    return all.count();
  }
};

Kernel bind_pull_rows(const Bind& b) {
  return [p = PullRows(b)](const Run& r) { p(r); };
}

void infer_push_rows(Infer& i) {
  const Meta& x = i.in("X");
  i.check(x.kind == VarKind::selected_rows && x.dtype == DType::f32, i.describe("X"),
          " must hold selected rows of float32: only lookups may use a table");
  i.check(x.shape.rank() == 2 && (x.shape[1] < 0 || x.shape[1] == i.attr<int64_t>("width")),
          i.describe("X"), " must have rows of ", i.attr<int64_t>("width"), " values");
  for (const char* slot : {"Distinct", "Count"})
    i.check(i.dtype(slot) == DType::i64, slot, " must be int64");
  i.check(i.shape("Count").numel() == 1, "Count must be one number");
  i.check(!i.has("LearningRate") ||
              (i.dtype("LearningRate") == DType::f32 && i.shape("LearningRate").numel() == 1),
          "LearningRate must be one float32");
}

// Gradients of one id are added in the order of ops and positions, as merge_rows() adds them.
Kernel bind_push_rows(const Bind& b) {
  const Arg x = b.in("X"), distinct = b.in("Distinct"), count = b.in("Count"),
            rate = b.in("LearningRate");
  return [=, table = b.attr<int32_t>("table"), width = b.attr<int64_t>("width")](const Run& r) {
    const View& grad = r[x];
    Remote& keeper = keeper_of(r);
    const auto rows = read_one(r, r[count].as<const int64_t>());
    require(rows >= 0 && rows <= r[distinct].numel() && grad.rows != nullptr, Error::Kind::config,
            "the op push_rows stands behind no pull of its table");
    auto* sums = r.scratch.get<float>(rows * width + rows / 4 + 1);
    sum_numbered(r, grad.rows, grad.shape[0], width, grad.as<const float>(), rows, sums,
                 reinterpret_cast<unsigned char*>(sums + rows * width));
    if (rate) keeper.set_rate(table, read_one(r, r[rate].as<const float>()));
    keeper.push_rows(table, {r[distinct].as<const uint64_t>(), static_cast<size_t>(rows)}, sums,
                     r.step());
  };
}

}  // namespace

std::vector<OpDef> remote_rows_ops() {
  return {
      {.type = "pull_rows",
       .in = {{"Ids", SlotDef::many}},
       .out = {{"Rows"}, {"Distinct"}, {"Count"}, {"Numbers", SlotDef::many}},
       .attrs = {{"table", 0},
                 {"width", int64_t{0}},
                 {"height", int64_t{-1}},
                 {"name", std::string()},
                 {"paddings", Longs{}}},
       .infer = infer_pull_rows,
       .bind = bind_pull_rows,
       .has_effect = true},
      {.type = "push_rows",
       .in = {{"X"}, {"Distinct"}, {"Count"}, {"LearningRate", SlotDef::optional}},
       .out = {},
       .attrs = {{"table", 0}, {"width", int64_t{0}}},
       .infer = infer_push_rows,
       .bind = bind_push_rows},
  };
}

}  // namespace paddle
