#include "wire/messages.h"

#include <wire_generated.h>

#include <catch2/catch.hpp>
#include <cstring>

#include "base/error.h"
#include "support/frames.h"

using namespace paddle;
using namespace paddle::wire;
using Catch::Matchers::Contains;

namespace {

// Bytes at an address that read_message() takes.
struct Head {
  explicit Head(std::string_view bytes) : words((bytes.size() + 7) / 8), size(bytes.size()) {
    bytes.copy(reinterpret_cast<char*>(words.data()), bytes.size());
  }
  Bytes bytes() const { return std::as_bytes(std::span(words)).first(size); }
  std::vector<uint64_t> words;
  size_t size;
};

// Gives every field of a message another value, and writes every field of another one down as
// text. A new field is added to one list here; the compiler sees to it that no struct grows
// unnoticed: a structured binding names every field.
class Filler {
 public:
  void operator()(uint8_t& x) { x = static_cast<uint8_t>(++last_); }
  void operator()(uint32_t& x) { x = static_cast<uint32_t>(++last_); }
  void operator()(int32_t& x) { x = -static_cast<int32_t>(++last_); }
  void operator()(uint64_t& x) { x = ++last_ << 32; }
  void operator()(int64_t& x) { x = -static_cast<int64_t>(++last_ << 32); }
  void operator()(double& x) { x = static_cast<double>(++last_) + 0.5; }
  void operator()(bool& x) { x = true; }
  void operator()(std::string& x) { x = "text " + std::to_string(++last_); }
  void operator()(Mode& x) { x = Mode::geo; }
  void operator()(Role& x) { x = Role::admin; }
  void operator()(ShardState& x) { x = ShardState::stopping; }
  void operator()(Phase& x) { x = Phase::bye; }
  void operator()(Order& x) { x = Order::stop; }
  void operator()(CountKind& x) { x = CountKind::window; }
  void operator()(FailureCode& x) { x = FailureCode::id_taken; }
  template <class T>
  void operator()(std::vector<T>& x) {
    x.resize(3);
    for (T& e : x) each(*this, e);
  }
  template <class T>
  void operator()(std::span<const T>& x) {
    auto& kept = std::get<std::vector<T>>(parts_);
    (*this)(kept);
    x = kept;
  }
  template <class T>
  void operator()(std::optional<T>& x) {
    each(*this, x.emplace());
  }

 private:
  uint64_t last_ = 0;
  std::tuple<std::vector<PushPart>, std::vector<PullPart>, std::vector<ValuesPart>> parts_;
};

class Describer {
 public:
  template <class T>
  void operator()(const T& x) {
    if constexpr (std::is_enum_v<T> || std::is_same_v<T, uint8_t>)
      out += std::to_string(static_cast<int>(x)) + ",";
    else if constexpr (std::is_arithmetic_v<T>)
      out += std::to_string(x) + ",";
    else
      each(*this, x);
  }
  void operator()(const std::string& x) { out += x + ","; }
  template <class T>
  void operator()(const std::vector<T>& x) {
    list(x);
  }
  template <class T>
  void operator()(const std::span<const T>& x) {
    list(x);
  }
  template <class T>
  void operator()(const std::optional<T>& x) {
    out += x ? "some," : "none,";
    if (x) each(*this, *x);
  }
  std::string out;

 private:
  template <class List>
  void list(const List& x) {
    out += "[";
    for (const auto& e : x) each(*this, e);
    out += "]";
  }
};

template <class F, class... T>
void all(F& f, T&... fields) {
  (f(fields), ...);
}

// clang-format off
template <class F, class X> void each(F& f, X& x) {
  using T = std::remove_const_t<X>;
  if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) f(x);
  else if constexpr (std::is_same_v<T, Position>) { auto& [a, b, c, d] = x; all(f, a, b, c, d); }
  else if constexpr (std::is_same_v<T, LastPush>) { auto& [a, b, c] = x; f(a); each(f, b); each(f, c); }
  else if constexpr (std::is_same_v<T, Hello>) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r] = x;
    all(f, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r);
  } else if constexpr (std::is_same_v<T, SliceState>) { auto& [a, b, c, d] = x; all(f, a, b, c, d); }
  else if constexpr (std::is_same_v<T, Welcome>) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q] = x;
    all(f, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q);
  } else if constexpr (std::is_same_v<T, Origin>) { auto& [a, b] = x; all(f, a, b); }
  else if constexpr (std::is_same_v<T, ConfiguredSlice>) { auto& [a, b, c, d] = x; all(f, a, b, c, d); }
  else if constexpr (std::is_same_v<T, ConfiguredVariable>) { auto& [a, b, c] = x; all(f, a, b, c); }
  else if constexpr (std::is_same_v<T, Configure>) {
    auto& [a, b, c, d, e, g, h, i, j, k] = x;
    all(f, a, b, c, d, e, g, h, i, j, k);
  } else if constexpr (std::is_same_v<T, ConfiguredTable>) { auto& [a, b, c, d, e] = x; all(f, a, b, c, d, e); }
  else if constexpr (std::is_same_v<T, PullRows>) { auto& [a, b, c, d] = x; all(f, a, b, c, d); }
  else if constexpr (std::is_same_v<T, SetRows>) { auto& [a, b, c] = x; all(f, a, b, c); }
  else if constexpr (std::is_same_v<T, FetchRows>) { auto& [a, b, c, d] = x; all(f, a, b, c, d); }
  else if constexpr (std::is_same_v<T, TableStatus>) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m, n] = x;
    all(f, a, b, c, d, e, g, h, i, j, k, l, m, n);
  } else if constexpr (std::is_same_v<T, SetValue>) { auto& [a, b, c, d] = x; all(f, a, b, c, d); }
  else if constexpr (std::is_same_v<T, Join>) { auto& [a, b] = x; all(f, a, b); }
  else if constexpr (std::is_same_v<T, PushPart>) { auto& [a, b, c] = x; all(f, a, b, c); }
  else if constexpr (std::is_same_v<T, Push>) {
    auto& [a, b, c, d, e, g] = x;
    all(f, a, b); each(f, c); each(f, d); all(f, e, g);
  } else if constexpr (std::is_same_v<T, PullPart>) { auto& [a, b, c] = x; all(f, a, b, c); }
  else if constexpr (std::is_same_v<T, Pull>) { auto& [a, b] = x; all(f, a, b); }
  else if constexpr (std::is_same_v<T, ValuesPart>) { auto& [a, b, c] = x; all(f, a, b, c); }
  else if constexpr (std::is_same_v<T, Values>) { auto& [a] = x; f(a); }
  else if constexpr (std::is_same_v<T, Fetch>) { auto& [a, b, c] = x; all(f, a, b, c); }
  else if constexpr (std::is_same_v<T, Rollback>) { auto& [a, b] = x; all(f, a, b); }
  else if constexpr (std::is_same_v<T, Complete>) { auto& [a, b, c] = x; all(f, a, b, c); }
  else if constexpr (std::is_same_v<T, Progress>) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m, n, o, p] = x;
    all(f, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p);
  } else if constexpr (std::is_same_v<T, BeatAck>) {
    auto& [a, b, c, d, e, g, h, i, j] = x;
    all(f, a, b, c, d, e, g, h, i, j);
  }
  else if constexpr (std::is_same_v<T, Ack>) { auto& [a, b] = x; all(f, a, b); }
  else if constexpr (std::is_same_v<T, Failure>) { auto& [a, b] = x; all(f, a, b); }
  else if constexpr (std::is_same_v<T, StatusAsk>) {}
  else if constexpr (std::is_same_v<T, Command>) { auto& [a, b] = x; all(f, a, b); }
  else if constexpr (std::is_same_v<T, BinCount>) { auto& [a, b, c] = x; all(f, a, b, c); }
  else if constexpr (std::is_same_v<T, Count>) { auto& [a, b, c, d, e] = x; all(f, a, b, c, d, e); }
  else if constexpr (std::is_same_v<T, Tally>) { auto& [a, b, c, d, e, g, h] = x; all(f, a, b, c, d, e, g, h); }
  else if constexpr (std::is_same_v<T, Number>) { auto& [a, b] = x; all(f, a, b); }
  else if constexpr (std::is_same_v<T, Sums>) { auto& [a, b, c] = x; all(f, a, b, c); }
  else if constexpr (std::is_same_v<T, Totals>) {
    auto& [a, b, c, d, e, g, h] = x;
    all(f, a, b, c, d, e); each(f, g); f(h);
  }
  else if constexpr (std::is_same_v<T, MemberStatus>) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s] = x;
    all(f, a, b, c, d, e); each(f, g); all(f, h, i, j, k, l, m, n, o, p, q, r, s);
  } else if constexpr (std::is_same_v<T, SliceStatus>) { auto& [a, b, c, d] = x; all(f, a, b, c, d); }
  else {
    static_assert(std::is_same_v<T, Status>);
    auto& [a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, aa, bb, cc, dd, ee, ff, gg, hh, ii] = x;
    all(f, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, aa, bb, cc, dd, ee, ff, gg, hh); each(f, ii);
  }
}
// clang-format on

template <class X>
std::string described(X x) {
  Describer d;
  each(d, x);
  return d.out;
}

template <class X>
void check_round_trip(const X& sent) {
  const Head head(head_of(77, sent));
  const Message got = read_message(head.bytes());
  INFO(name_of(got.body));
  CHECK(got.id == 77);
  REQUIRE(std::holds_alternative<X>(got.body));
  CHECK(described(std::get<X>(got.body)) == described(sent));
}

template <size_t I = 0>
void round_trips() {
  if constexpr (I < std::variant_size_v<Body>) {
    using X = std::variant_alternative_t<I, Body>;
    Filler fill;
    X full{};
    each(fill, full);
    check_round_trip(X{});
    check_round_trip(full);
    // As a Body it is written the same.
    CHECK(head_of(5, Body(full)) == head_of(5, full));
    round_trips<I + 1>();
  }
}

using Builder = flatbuffers::FlatBufferBuilder;

template <class Table>
Head finished(Builder& b, flatbuffers::Offset<Table> body) {
  msg::FinishMessageBuffer(
      b, msg::CreateMessage(b, 9, msg::BodyTraits<Table>::enum_value, body.Union()));
  return Head({reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize()});
}

// Where the length of the only list of so many entries stands.
size_t find_length(const Head& head, uint32_t length) {
  for (size_t at = 0; at + 4 <= head.size; at += 4)
    if (std::memcmp(head.bytes().data() + at, &length, 4) == 0) return at;
  FAIL("no list of " << length);
  return 0;
}

}  // namespace

TEST_CASE("every field of every message comes back", "[wire]") { round_trips(); }

TEST_CASE("lists of slices lie in the frame", "[wire]") {
  const std::vector<PushPart> parts{{1, 2, 0}, {3, 4, 0}};
  const Head head(head_of(1, Push{.step = 7, .parts = parts}));
  const Message m = read_message(head.bytes());
  const auto& got = std::get<Push>(m.body).parts;
  const auto* begin = reinterpret_cast<const std::byte*>(got.data());
  CHECK(begin >= head.bytes().data());
  CHECK(begin + got.size_bytes() <= head.bytes().data() + head.size);
}

TEST_CASE("a greeting of this process says which it is", "[wire]") {
  const Hello hello = make_hello(Role::beat);
  CHECK(hello.protocol == protocol_version);
  CHECK(hello.role == Role::beat);
  CHECK(!hello.build.empty());
  CHECK(hello.process.find(':') != std::string::npos);
}

TEST_CASE("hostile heads are refused", "[wire]") {
  const auto refuses = [](const Head& head, const std::string& why) {
    try {
      read_message(head.bytes());
      FAIL("it was read; expected: " << why);
    } catch (const Error& e) {
      CHECK(e.kind() == Error::Kind::protocol);
      CHECK_THAT(e.what(), Contains(why));
    }
  };
  Builder b;
  SECTION("lists of structs that are not aligned") {
    const std::vector<PushPart> parts(57);
    Head head(head_of(1, Push{.parts = parts}));
    // The list is moved by 4 bytes: its reference, and its length.
    const size_t at = find_length(head, 57);
    auto* bytes = reinterpret_cast<char*>(head.words.data());
    size_t reference = 0;
    for (size_t i = 0; i < at; i += 4) {
      uint32_t offset = 0;
      std::memcpy(&offset, bytes + i, 4);
      if (i + offset == at) reference = i;
    }
    REQUIRE(reference > 0);
    const auto offset = static_cast<uint32_t>(at + 4 - reference), length = 56u;
    std::memcpy(bytes + reference, &offset, 4);
    std::memcpy(bytes + at + 4, &length, 4);
    refuses(head, "not aligned");
  }
  SECTION("enum values that do not exist") {
    const auto wild = [](auto value) { return static_cast<decltype(value)>(200); };
    SECTION("role") {
      refuses(finished(b, msg::CreateHelloDirect(b, 2, "", wild(msg::Role{}), "", msg::Mode::sync,
                                                 0, 1, 1, 0, 1, "", "")),
              "unknown value 200");
    }
    SECTION("mode") {
      refuses(finished(b, msg::CreateHelloDirect(b, 2, "", msg::Role::beat, "", wild(msg::Mode{}),
                                                 0, 1, 1, 0, 1, "", "")),
              "unknown value 200");
    }
    SECTION("state") {
      refuses(finished(b, msg::CreateWelcome(b, 1, 1, wild(msg::ShardState{}))),
              "unknown value 200");
    }
    SECTION("phase") {
      refuses(finished(b, msg::CreateComplete(b, wild(msg::Phase{}))), "unknown value 200");
    }
    SECTION("code") {
      refuses(finished(b, msg::CreateFailureDirect(b, wild(msg::FailureCode{}), "")),
              "unknown value 200");
    }
  }
  SECTION("types that do not exist") {
    for (const size_t type : {std::variant_size_v<Body> + 1, size_t{255}}) {
      Builder other;
      const auto body = msg::CreateAck(other);
      msg::FinishMessageBuffer(
          other, msg::CreateMessage(other, 9, static_cast<msg::Body>(type), body.Union()));
      refuses(Head({reinterpret_cast<const char*>(other.GetBufferPointer()), other.GetSize()}),
              "unknown type " + std::to_string(type));
    }
  }
  SECTION("lists whose entries are all the same long string") {
    const auto name = b.CreateString(std::string(4000, 'x'));
    const std::vector slices(200, msg::CreateConfiguredSlice(b, 1, name, name, 1));
    const auto list = b.CreateVector(slices);
    const auto none = b.CreateVector(std::vector<flatbuffers::Offset<msg::ConfiguredVariable>>{});
    const auto program = b.CreateVector(std::vector<uint8_t>{});
    refuses(finished(b, msg::CreateConfigure(b, 0, 0, false, name, program, list, none)),
            "overlap");
  }
  SECTION("more tables than the bytes can hold") {
    const auto slice = msg::CreateConfiguredSliceDirect(b, 1, "", "", 1);
    const auto list = b.CreateVector(std::vector(1000, slice));
    const auto none = b.CreateVector(std::vector<flatbuffers::Offset<msg::ConfiguredVariable>>{});
    const auto program = b.CreateVector(std::vector<uint8_t>{});
    const auto init = b.CreateString("");
    refuses(finished(b, msg::CreateConfigure(b, 0, 0, false, init, program, list, none)),
            "damaged");
  }
  SECTION("without what is required") {
    // By hand, as the generated builder asserts that all required fields are there.
    const auto start = b.StartTable();
    b.AddElement<uint64_t>(msg::Push::VT_STEP, 1, 0);
    refuses(finished(b, flatbuffers::Offset<msg::Push>(b.EndTable(start))), "damaged");
    refuses(Head(""), "damaged");
    refuses(Head("PSW1"), "damaged");
  }
}

TEST_CASE("heads that are cut or changed are refused, or read without harm", "[wire]") {
  const std::vector<PushPart> parts{{1, 2, 0}, {3, 4, 0}};
  const std::string good = GENERATE_COPY(
      head_of(9, Push{.step = 7, .begin = {1, 2, 3, 4}, .parts = parts}),
      head_of(9, Status{.build = "b",
                        .members = {{.state = "joined", .progress = {.state = "training"}}},
                        .slices = {{"w", 1, 2, ""}},
                        .snapshots = {1, 2, 3},
                        .last_errors = {"none"}}));
  const auto harmless = [](const Head& head) {
    try {
      const Message m = read_message(head.bytes());
      if (const auto* push = std::get_if<Push>(&m.body)) described(*push);
      return true;
    } catch (const Error& e) {
      CHECK(e.kind() == Error::Kind::protocol);
      return false;
    }
  };
  CHECK(harmless(Head(good)));
  for (size_t n = 0; n < good.size(); ++n) harmless(Head(std::string_view(good).substr(0, n)));
  CHECK_FALSE(harmless(Head(std::string_view(good).substr(0, good.size() / 2))));
  size_t refused = 0;
  for (size_t at = 0; at + 4 <= good.size(); at += 4)
    for (const uint32_t value : {0u, 1u, 4u, 0xffffffffu, 0x7fffffffu, 0x80000000u}) {
      std::string bad = good;
      std::memcpy(bad.data() + at, &value, 4);
      refused += harmless(Head(bad)) ? 0 : 1;
    }
  CHECK(refused > 10);
}
