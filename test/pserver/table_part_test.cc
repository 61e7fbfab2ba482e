// Parts of sparse tables on a shard: rounds, exactly-once pushes, waits, old rows, and what is
// refused.
#include "exec/table_store.h"
#include "pserver/table_job.h"

namespace table_part_test {

using namespace paddle;
using namespace paddle::table_test;
using Catch::Matchers::Contains;
using Code = wire::FailureCode;

TEST_CASE("rows of a table are updated in rounds") {
  for (const std::string rule : {"sgd", "momentum", "adagrad", "rowwise_adagrad", "adam", "ftrl"}) {
    DYNAMIC_SECTION(rule) {
      TableSpec spec = spec_of(rule);
      if (rule == "momentum") spec.settings = {{"mu", 0.9f}};
      Two job(table_job(spec));
      Reference expected(spec);
      CHECK(job.pull(0, 0, looked_at) == expected.pull(looked_at));
      for (uint64_t step = 0; step < 9; ++step) {
        const uint32_t first = step % 2;  // the order of arrival does not count
        const uint64_t a = job.push(first, step);
        CHECK(!job.shard.answered(a));
        const uint64_t b = job.push(1 - first, step);
        for (const uint64_t id : {a, b}) {
          REQUIRE(job.shard.reply(id).is<wire::Values>());
          CHECK(job.shard.reply(id).parts[0].version == step + 1);
          CHECK(job.shard.reply(id).bulk.empty());
        }
        expected.step(step, {0, 1});
        CHECK(job.pull(1, step + 1, looked_at) == expected.pull(looked_at));
      }
    }
  }
}

TEST_CASE("the parts of a table together are the table") {
  const TableSpec spec = spec_of("adam");
  const uint32_t parts = GENERATE(1u, 2u, 5u);
  std::vector<std::unique_ptr<Two>> shards;
  for (uint32_t k = 0; k < parts; ++k)
    shards.push_back(std::make_unique<Two>(table_job(spec, {}, k, parts)));
  Reference expected(spec);
  for (uint64_t step = 0; step < 12; ++step) {
    for (uint32_t t = 0; t < 2; ++t) {
      const Ids all = ids_of(t, step);
      for (uint32_t k = 0; k < parts; ++k) {
        Ids mine;
        for (const uint64_t id : all)
          if (shard_of(id, parts) == k) mine.push_back(id);
        shards[k]->shard.push_rows(shards[k]->peers[t], table_id, step, mine,
                                   grads_of(t, step, mine));
      }
    }
    expected.step(step, {0, 1});
  }
  for (const uint64_t id : looked_at)
    CHECK(shards[shard_of(id, parts)]->pull(0, 12, {id}) == expected.pull({id}));
}

TEST_CASE("a push of rows counts once") {
  const TableSpec spec = spec_of();
  Two job(table_job(spec));
  Reference expected(spec);
  job.push(0, 0);
  const uint64_t again = job.push(0, 0);  // its answer was lost: it comes again before the round
  CHECK(!job.shard.answered(again));
  job.push(1, 0);
  REQUIRE(job.shard.reply(again).is<wire::Values>());
  const uint64_t late = job.push(1, 0);  // and after it
  CHECK(job.shard.reply(late).is<wire::Values>());
  expected.step(0, {0, 1});
  CHECK(job.pull(0, 1, looked_at) == expected.pull(looked_at));
  const uint64_t ahead = job.push(0, 2);
  CHECK(job.shard.reply(ahead).failed(Code::protocol));
}

TEST_CASE("a pull of rows waits for its version, and the version before stays for one round") {
  const TableSpec spec = spec_of();
  Two job(table_job(spec));
  Reference before(spec), after(spec);
  after.step(0, {0, 1});
  const uint64_t early = job.shard.pull_rows(job.peers[0], table_id, 1, looked_at);
  job.push(1, 0);
  CHECK(!job.shard.answered(early));
  job.push(0, 0);
  REQUIRE(job.shard.answered(early));
  CHECK(job.shard.reply(early).values() == after.pull(looked_at));
  CHECK(job.shard.reply(early).parts[0].version == 1);
  // A trainer that starts again inside the round asks for the version before.
  job.push(1, 1);
  CHECK(job.pull(0, 0, looked_at) == before.pull(looked_at));
  job.push(0, 1);
  CHECK(job.pull(0, 1, looked_at) == after.pull(looked_at));
  job.shard.pull_rows(job.peers[0], table_id, 0, looked_at);
  CHECK(job.shard.last_reply().failed(Code::unknown_version));
  job.shard.pull_rows(job.peers[0], table_id, 5, looked_at);
  CHECK(job.shard.last_reply().failed(Code::unknown_version));
}

TEST_CASE("a pull that waits is forgotten with its connection") {
  Two job(table_job(spec_of()));
  const uint64_t early = job.shard.pull_rows(job.peers[0], table_id, 1, looked_at);
  job.shard.close(job.peers[0]);
  const PeerId again = job.shard.greet(0, 2, wire::Mode::sync, 5000);
  job.shard.say(again, wire::Join{0, 0});
  job.peers[0] = again;
  job.push(0, 0);
  job.push(1, 0);
  CHECK(!job.shard.answered(early));
}

TEST_CASE("the learning rate of rows follows the schedule of the job") {
  const TableSpec spec = spec_of("sgd");
  Two job(table_job(spec, {.decays = true}));
  Table table(table_options(spec));
  RowSum sum(3);
  for (uint64_t step = 0; step < 5; ++step) {
    Ids ids;
    Floats grads;
    for (uint32_t t = 0; t < 2; ++t) {
      const Ids of = ids_of(t, step);
      sum.add(of, grads_of(t, step, of).data());
      job.push(t, step);
    }
    sum.take(0.5f, ids, grads);
    table.push(ids, grads.data(), 1.0f / static_cast<float>(step + 1), step);
  }
  Floats expected(looked_at.size() * 3);
  table.pull(looked_at, expected.data());
  CHECK(job.pull(0, 5, looked_at) == expected);
}

TEST_CASE("async: rows are updated on arrival, in the order of arrival") {
  const TableSpec spec = spec_of();
  const auto mode = GENERATE(wire::Mode::async, wire::Mode::half_async);
  Two job(table_job(spec), mode);
  Table table(table_options(spec));
  uint64_t version = 0;
  for (uint64_t step = 0; step < 4; ++step)
    for (uint32_t t = 0; t < 2; ++t) {
      const Ids ids = ids_of(t, step);
      table.push(ids, grads_of(t, step, ids).data(), 0.125f, version++);
      const uint64_t first = job.push(t, step), second = job.push(t, step);
      for (const uint64_t id : {first, second}) {
        REQUIRE(job.shard.reply(id).is<wire::Values>());
        CHECK(job.shard.reply(id).parts[0].version == version);
      }
    }
  Floats expected(looked_at.size() * 3);
  table.pull(looked_at, expected.data());
  CHECK(job.pull(0, 0, looked_at) == expected);
}

TEST_CASE("geo: differences are added to rows") {
  const TableSpec spec = spec_of("sgd", 2);
  Two job(table_job(spec), wire::Mode::geo);
  Floats before = job.pull(0, 0, {5, 6});
  job.shard.push_rows(job.peers[0], table_id, 0, {6}, {0.5f, -0.25f});
  before[2] += 0.5f;
  before[3] -= 0.25f;
  CHECK(job.pull(1, 0, {5, 6}) == before);
}

TEST_CASE("rows and gradients may travel in 16 bits") {
  TableSpec spec = spec_of("sgd", 2);
  spec.bf16_wire = true;
  spec.init = "constant";
  spec.init_a = 1.00390625f;  // 1 + 2^-8, which 16 bits round
  Two job(table_job(spec), wire::Mode::async);
  job.shard.pull_rows(job.peers[0], table_id, 0, {3});
  CHECK(job.shard.last_reply().bulk.size() == 4);
  const Floats packed(1, std::bit_cast<float>(0x3f803f80u));  // two numbers 1.0
  job.shard.push_rows(job.peers[0], table_id, 0, {3}, packed);
  REQUIRE(job.shard.last_reply().is<wire::Values>());
  // The table keeps 32 bits: 1.00390625 - 0.125 = 0.87890625, which 16 bits hold.
  job.shard.pull_rows(job.peers[0], table_id, 0, {3});
  const auto& bulk = job.shard.last_reply().bulk;
  uint16_t half;
  std::memcpy(&half, bulk.data(), 2);
  CHECK(std::bit_cast<float>(uint32_t{half} << 16) == 0.87890625f);
}

TEST_CASE("messages with rows that make no sense are refused, and change nothing") {
  TableSpec spec = spec_of();
  spec.height = 1000;
  Two job(table_job(spec, {}, 1, 2));
  Ids here, there;
  for (uint64_t id = 0; id < 40; ++id) (shard_of(id, 2) == 1 ? here : there).push_back(id);
  const Floats one(3, 1.0f), two(6, 1.0f);
  const auto refused = [&](const Ids& ids, const Floats& grads, const std::string& why) {
    job.shard.push_rows(job.peers[0], table_id, 0, ids, grads);
    CHECK(job.shard.last_reply().failed(Code::protocol));
    CHECK_THAT(job.shard.last_failure(), Contains(why));
  };
  refused({here[0], here[0]}, two, "came twice in one gradient");
  refused({there[0]}, one, "is in part 0 of 2, and this shard keeps part 1");
  uint64_t high = 1000;
  while (shard_of(high, 2) != 1) ++high;
  refused({high}, one, "is not below 1000, the number of rows of 'emb'");
  refused({here[0]}, two, "has 32 bytes, expected 20");
  job.shard.push_rows(job.peers[0], table_id, 0, {here[0]}, {1, NAN, 1});
  CHECK(job.shard.last_reply().failed(Code::not_finite));
  job.shard.pull_rows(job.peers[0], table_id, 0, {high});
  CHECK(job.shard.last_reply().failed(Code::protocol));
  job.shard.pull_rows(job.peers[0], table_id, 0, {there[0]});
  CHECK(job.shard.last_reply().failed(Code::protocol));
  job.shard.pull_rows(job.peers[0], 10, 0, {here[0]});
  CHECK(job.shard.last_reply().failed(Code::unknown_version));  // a slice
  job.shard.pull_rows(job.peers[0], table_id, 0, {here[0]}, 3);
  CHECK(job.shard.last_reply().failed(Code::stale_epoch));
  job.shard.say(job.peers[0], wire::PullRows{0, 0, table_id, 5}, std::vector<std::byte>(8));
  CHECK(job.shard.last_reply().failed(Code::protocol));  // other ids than it says
  job.shard.say(job.peers[0], wire::PullRows{0, 0, table_id, 0});
  CHECK(job.shard.last_reply().failed(Code::protocol));
  job.shard.say(job.peers[0], wire::PullRows{0, 0, table_id, ~0u}, std::vector<std::byte>(64));
  CHECK(job.shard.last_reply().failed(Code::protocol));
  job.shard.push(job.peers[0], 0, {{10, gradients(0, 0, 0, 5)}, {table_id, {}}});
  CHECK(job.shard.last_reply().failed(Code::protocol));  // rows go alone
  job.shard.pull(job.peers[0], table_id, 0);             // its version alone
  REQUIRE(job.shard.last_reply().is<wire::Values>());
  CHECK(job.shard.last_reply().bulk.empty());
  const wire::Status s = job.shard.shard.status(job.shard.now);
  CHECK(s.tables.at(0).rows == 0);
  CHECK(s.tables.at(0).version == 0);
}

TEST_CASE("the rows of a table are fetched with their state") {
  const TableSpec spec = spec_of("adam");
  Two job(table_job(spec));
  Reference expected(spec);
  for (uint64_t step = 0; step < 5; ++step) {
    job.push(0, step);
    job.push(1, step);
    expected.step(step, {0, 1});
  }
  job.shard.say(job.peers[0], wire::FetchRows{0, 0, table_id, 0});
  REQUIRE(job.shard.last_reply().is<wire::Ack>());
  const auto& ack = std::get<wire::Ack>(job.shard.last_reply().body);
  CHECK(ack.version == 5);
  CHECK(ack.next == 0);
  Table copy(table_options(spec));
  copy.load_part(job.shard.last_reply().bulk);
  CHECK(copy.digest() == expected.table().digest());

  job.shard.say(job.peers[0], wire::FetchRows{1, 0, table_id, 0});
  CHECK(job.shard.last_reply().failed(Code::stale_epoch));
  job.shard.say(job.peers[1], wire::FetchRows{0, 0, table_id + 1, 0});
  CHECK(job.shard.last_reply().failed(Code::unknown_version));
  job.shard.say(job.peers[1], wire::FetchRows{0, ~uint64_t{0}, table_id, 7});  // the last rows
  CHECK(job.shard.last_reply().is<wire::Ack>());
}

TEST_CASE("a table that cannot be is refused when it is configured") {
  const auto refusal = [](TableSpec spec, uint32_t part = 0, uint32_t parts = 1) {
    PlainShard shard;
    const PeerId peer = shard.greet(0);
    shard.configure(peer, table_job(spec, {}, part, parts));
    std::string why;
    for (const auto& [id, reply] : shard.replies)
      if (const auto* f = std::get_if<wire::Failure>(&reply.body)) why = f->message;
    return why;
  };
  TableSpec spec = spec_of();
  spec.rule = "gradient_free";
  CHECK_THAT(refusal(spec), Contains("gradient_free"));
  spec = spec_of();
  spec.init = "zeros";
  CHECK_THAT(refusal(spec), Contains("first values 'zeros', which do not exist"));
  spec = spec_of();
  spec.learning_rate = "rat";
  CHECK_THAT(refusal(spec), Contains("the learning rate 'rat' of the table 'emb'"));
  spec = spec_of();
  spec.width = 1 << 20;
  CHECK_THAT(refusal(spec), Contains("impossible width"));
  CHECK_THAT(refusal(spec_of(), 2, 2), Contains("part 2 of 2"));
  CHECK(refusal(spec_of()) == "");
}

TEST_CASE("first values of rows are taken where the description says so") {
  TableSpec spec = spec_of("sgd", 2);
  spec.height = 50;
  spec.first_values_sent = true;
  SmallJob job = table_job(spec, {}, 0, 2);
  Ids ids;
  Floats rows;
  for (uint64_t id = 0; id < 50; ++id)
    if (shard_of(id, 2) == 0) {
      ids.push_back(id);
      rows.insert(rows.end(), {static_cast<float>(id), -1});
    }
  const auto bulk_of = [&](const Ids& i, const Floats& v, uint32_t number, bool last) {
    std::vector<std::byte> bulk;
    PartWriter out(part_format(table_options(spec)));
    out.begin(bulk, number);
    for (size_t k = 0; k < i.size(); ++k)
      out.add({.id = i[k], .step = 1, .count = 0, .flags = 0}, v.data() + 2 * k, {});
    out.end(1, 0, last);
    return bulk;
  };
  PlainShard shard;
  const PeerId peer = shard.greet(0, 1);
  const auto begin = [&] {
    SmallJob dense = job;
    wire::Configure c{.values_digest = "init", .program = to_flatbuffer(job.config.program)};
    for (const SliceInfo& s : job.config.slices)
      c.slices.push_back({s.id, s.name, s.grad, s.block});
    for (const KeptVariable& v : job.config.variables)
      c.variables.push_back(
          {v.name, static_cast<uint8_t>(v.dtype), {v.shape.begin(), v.shape.end()}});
    c.tables.push_back({table_id, 0, 2, to_flatbuffer(spec), true});
    shard.say(peer, c);
    for (uint32_t i = 0; i < job.values.size(); ++i) {
      const auto* from = static_cast<const std::byte*>(job.values[i].raw());
      shard.say(peer, wire::SetValue{0, i, 0, false}, {from, from + job.values[i].bytes()});
    }
  };
  begin();
  const auto count = static_cast<uint32_t>(ids.size());
  SECTION("all of them, in any number of messages") {
    const Ids head(ids.begin(), ids.begin() + 3);
    shard.say(peer, wire::SetRows{0, table_id, false},
              bulk_of(head, {rows.begin(), rows.begin() + 6}, 0, false));
    REQUIRE(shard.last_reply().is<wire::Ack>());
    shard.say(peer, wire::SetRows{0, table_id, true},
              bulk_of({ids.begin() + 3, ids.end()}, {rows.begin() + 6, rows.end()}, 1, true));
    REQUIRE(shard.last_reply().is<wire::Ack>());
    shard.say(peer, wire::Join{0, 0});
    shard.pull_rows(peer, table_id, 0, ids);
    CHECK(shard.last_reply().values() == rows);
  }
  SECTION("not with some missing") {
    shard.say(peer, wire::SetRows{0, table_id, true}, bulk_of({ids[0]}, {1, 2}, 0, true));
    std::string why;
    for (const auto& [id, reply] : shard.replies)
      if (const auto* f = std::get_if<wire::Failure>(&reply.body)) why = f->message;
    CHECK_THAT(why, Contains(text("1 of ", count, " rows of the table 'emb' came")));
  }
  SECTION("not with NaN, and not of another part") {
    shard.say(peer, wire::SetRows{0, table_id, false}, bulk_of({ids[0]}, {1, NAN}, 0, false));
    CHECK_THAT(shard.last_failure(), Contains("hold NaN or Inf"));
    begin();
    uint64_t other = 0;
    while (shard_of(other, 2) == 0) ++other;
    shard.say(peer, wire::SetRows{0, table_id, false}, bulk_of({other}, {1, 2}, 0, false));
    CHECK_THAT(shard.last_failure(), Contains("is in part 1 of 2"));
    begin();
    auto damaged = bulk_of({ids[0]}, {1, 2}, 0, false);
    damaged.back() ^= std::byte{1};
    shard.say(peer, wire::SetRows{0, table_id, false}, damaged);
    CHECK_THAT(shard.last_failure(), Contains("its checksum differs"));
    begin();
    shard.say(peer, wire::SetRows{0, table_id, false}, bulk_of({ids[0]}, {1, 2}, 1, false));
    CHECK_THAT(shard.last_failure(), Contains("out of order"));
  }
}

}  // namespace table_part_test
