#include <catch2/catch.hpp>
#include <future>

#include "paddle/doctor_checks.h"
#include "paddle/doctor_gather.h"
#include "paddle/within.h"
#include "support/temporary.h"
#include "wire/certificate_dates.h"
#include "wire/make_certificates.h"

using namespace paddle;
using Catch::Contains;
using Level = Finding::Level;

namespace doctor_test {
namespace {

constexpr const char* own = "PaddlePaddle 0.1.0";

PeerFacts good_peer() {
  return {.endpoint = "h1:7164",
          .connect_seconds = 0.001,
          .answer_seconds = 0.002,
          .build = own,
          .state = "ready",
          .job = "ctr",
          .clock_ahead = 0.01,
          .clock_error = 0.02};
}

const Finding& of(const Findings& all, const std::string& check) {
  for (const Finding& f : all)
    if (f.check == check) return f;
  FAIL("no finding about " << check);
  return all[0];
}

}  // namespace

TEST_CASE("doctor: peers", "[paddle]") {
  std::vector<PeerFacts> peers{good_peer()};
  SECTION("that answer are well") {
    const Findings all = check_peers(peers, own);
    REQUIRE(all.size() == 3);
    for (const Finding& f : all) {
      CHECK(f.level == Level::ok);
      CHECK(f.remedy.empty());
    }
    CHECK(all[0].what == "answers in 2.0 ms (connected in 1.0 ms), ready, job ctr");
    CHECK(of(all, "clocks").what == "differ by 30.0 ms at most");
  }
  SECTION("that cannot be reached say why") {
    PeerFacts bad{.endpoint = "h2:7164"};
    std::string words;
    SECTION("name") { bad.name_problem = words = "Name or service not known"; }
    SECTION("elsewhere") { bad.connect_problem = words = "No route to host"; }
    SECTION("here") {
      bad.connect_problem = words = "Connection refused";
      bad.own_machine = true;
    }
    SECTION("silent") {
      bad.silent = true;
      bad.problem = "no answer in time";
      bad.holder = "python3 (process 7)";
      words = "python3 (process 7)";
    }
    SECTION("another protocol") { bad.problem = words = "the protocol differs"; }
    peers.push_back(bad);
    const Finding found = of(check_peers(peers, own), "pserver h2:7164");
    CHECK(found.level == Level::problem);
    CHECK_THAT(found.what, Contains(words));
    CHECK(!found.remedy.empty());
  }
  SECTION("of other versions are named") {
    peers[0].build = "PaddlePaddle 0.2.0";
    const Finding found = of(check_peers(peers, own), "versions");
    CHECK(found.level == Level::warning);
    CHECK(found.what ==
          "here PaddlePaddle 0.1.0; h1:7164: PaddlePaddle 0.2.0 (the protocols agree)");
  }
  SECTION("with another time: only what the way there does not explain counts") {
    peers[0].clock_ahead = -5;
    peers[0].clock_error = 4.5;
    CHECK(of(check_peers(peers, own), "clocks").level == Level::ok);
    peers[0].clock_error = 0.1;
    const Finding found = of(check_peers(peers, own), "clock of h1:7164");
    CHECK(found.level == Level::warning);
    CHECK(found.what == "is 5.0 s behind the clock here");
    peers[0].clock_ahead = 400;
    CHECK(of(check_peers(peers, own), "clock of h1:7164").level == Level::problem);
  }
}

TEST_CASE("doctor: this machine", "[paddle]") {
  CHECK(check_port({.port = 7164}).level == Level::ok);
  const Finding held = check_port(
      {.port = 7164, .free = false, .why = "Address already in use", .holder = "nc (process 3)"});
  CHECK(held.level == Level::problem);
  CHECK(held.what == "cannot be listened on: Address already in use; held by nc (process 3)");

  SECTION("limits") {
    CHECK(of(check_limits({}), "open files").what == "a process may open without a limit");
    CHECK(of(check_limits({.open_files = 4096}), "open files").level == Level::ok);
    CHECK(of(check_limits({.open_files = 1024}), "open files").level == Level::warning);
    CHECK(of(check_limits({.open_files = 1024, .trainers = 500}), "open files").level ==
          Level::problem);
    CHECK(of(check_limits({.locked_memory = 4096}), "locked memory").level == Level::warning);
    CHECK(of(check_limits({.address_space = 1u << 30}), "address space").level == Level::warning);
    CHECK(check_limits({}).size() == 2);
  }
  SECTION("memory") {
    constexpr uint64_t gib = 1u << 30;
    CHECK(check_memory({8 * gib, 8 * gib, 4 * gib}).level == Level::ok);
    CHECK_THAT(check_memory({8 * gib, 2 * gib, gib}).what, Contains("control group"));
    CHECK(check_memory({8 * gib, 8 * gib, gib / 4}).level == Level::warning);
  }
  SECTION("directories") {
    constexpr uint64_t mib = 1u << 20;
    DirectoryFacts d{.purpose = "save_dir", .path = "out", .free_bytes = 9000 * mib};
    CHECK(check_directory(d).level == Level::ok);
    d.free_bytes = 900 * mib;
    CHECK(check_directory(d).level == Level::warning);
    d.free_bytes = 90 * mib;
    CHECK(check_directory(d).level == Level::problem);
    d = {.purpose = "save_dir", .path = "out", .problem = "Permission denied"};
    CHECK_THAT(check_directory(d).what, Contains("out: Permission denied"));
    d = {.purpose = "save_dir", .path = "out", .late = true};
    CHECK_THAT(check_directory(d).what, Contains("does not answer"));
    d = {.purpose = "w", .free_bytes = 9000 * mib, .free_files = 3, .files = 100};
    CHECK(check_directory(d).level == Level::warning);
  }
  SECTION("processor and network") {
    CHECK(of(check_processor({"AVX2", true, 4, 4}), "processors").level == Level::ok);
    CHECK(of(check_processor({"AVX2", true, 4, 8}), "processors").level == Level::warning);
    CHECK(of(check_processor({"x", false, 4, 1}), "kernels").level == Level::warning);
    CHECK(of(check_network({.congestion = "bbr", .allowed = "bbr"}), "congestion").level ==
          Level::warning);
    CHECK(of(check_network({.congestion = "bbr", .allowed = "reno bbr"}), "congestion").level ==
          Level::ok);
    CHECK(check_network({}).empty());
    const NetworkFacts small{.receive_most = 200 << 10, .send_most = 4 << 20};
    CHECK(of(check_network(small), "socket buffers").level == Level::warning);
    CHECK(check_huge_pages({"never"}).level == Level::warning);
    CHECK(check_huge_pages({"madvise"}).level == Level::ok);
    CHECK(of(check_blas({.chosen = "own avx2"}), "matrix products").level == Level::ok);
    CHECK(of(check_blas({.problem = "PADDLE_BLAS names what is not there"}), "matrix products")
              .level == Level::problem);
  }
}

TEST_CASE("doctor: tokens and certificates", "[paddle]") {
  constexpr double day = 86400;
  CredentialFacts facts{.now = 1000 * day};
  CHECK(check_credentials(facts).empty());
  facts.token_file = "job.token";
  facts.token_grant = "observer";
  CHECK_THAT(of(check_credentials(facts), "token").what, Contains("is for 'observer'"));
  facts.token_problem = "others may read it";
  CHECK(of(check_credentials(facts), "token").level == Level::problem);
  const auto level = [&](double from, double until) {
    facts.certificates = {{"t.pem", "", "trainer", from * day, until * day}};
    return of(check_credentials(facts), "certificate").level;
  };
  CHECK(level(900, 1100) == Level::ok);
  CHECK(level(900, 1010) == Level::warning);
  CHECK(level(900, 999) == Level::problem);
  CHECK(level(1001, 1100) == Level::problem);
  CHECK_THAT(of(check_credentials(facts), "certificate").what, Contains("1972-09-28"));
}

TEST_CASE("doctor: findings as text and JSON", "[paddle]") {
  const Findings all{{Level::ok, "a", "is well", ""}, {Level::problem, "bbb", "is not", "mend it"}};
  CHECK(findings_text(all) ==
        "ok       a    is well\n"
        "problem  bbb  is not\n"
        "         -> mend it\n"
        "1 problem, 0 warnings, 1 ok\n");
  CHECK(findings_json(all) ==
        "{\"problems\": 1, \"warnings\": 0, \"findings\": [{\"level\": \"ok\", \"check\": \"a\", "
        "\"what\": \"is well\", \"remedy\": \"\"}, {\"level\": \"problem\", \"check\": \"bbb\", "
        "\"what\": \"is not\", \"remedy\": \"mend it\"}]}\n");
}

TEST_CASE("doctor: what the kernel says is read", "[paddle]") {
  const char* table =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
      "inode\n"
      "   0: 0100007F:1BFC 00000000:0000 01 00000000:00000000 00:00000000 00000000  1000 0 11 1\n"
      "   1: 0100007F:1BFC 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000 0 4711 1\n"
      "   2: 0000:1BFD\n";
  CHECK(listening_socket(table, 7164) == 4711u);
  CHECK(!listening_socket(table, 7165));
  CHECK(!listening_socket("", 7164));
  CHECK(chosen_word("always [madvise] never") == "madvise");
  CHECK(chosen_word("] [").empty());
  const BlasFacts blas = blas_facts();
  CHECK(blas.chosen.empty() != blas.problem.empty());
  CHECK(blas.openblas.empty() != blas.openblas_problem.empty());
  CHECK(processor_facts(3).usable > 0);
  CHECK(processor_facts(3).threads == 3);
  const auto facts = directory_facts({{"workspace", "/proc/self/no/such/place"}, {"x", "."}}, 10);
  REQUIRE(facts.size() == 2);
  CHECK(!facts[0].problem.empty());
  CHECK(facts[1].problem.empty());
  CHECK(facts[1].bytes > 0);
}

TEST_CASE("doctor: nobody waits for work that does not end", "[paddle]") {
  const auto gate = std::make_shared<std::promise<void>>();
  Aside<int> stuck([gate] { return gate->get_future().wait(), 1; });
  Aside<int> done([] { return 2; });
  const auto begin = std::chrono::steady_clock::now();
  CHECK(!stuck.by(begin + std::chrono::milliseconds(20)));
  CHECK(done.by(begin + std::chrono::seconds(60)) == 2);
  gate->set_value();
  CHECK(stuck.by(begin + std::chrono::seconds(60)) == 1);
}

TEST_CASE("dates of certificates", "[paddle]") {
  const TemporaryDirectory made;
  const std::string directory = made.path() + "/certificates";
  wire::make_certificates(directory, {{"observer", {}}}, {.days = 30, .from_day = -10});
  const wire::CertificateDates dates = wire::certificate_dates(directory + "/observer.pem");
  CHECK(dates.role == "observer");
  CHECK(dates.until - dates.from == Approx(30 * 86400.).margin(3600));
  CHECK_THROWS_WITH(wire::certificate_dates(directory + "/observer.key"),
                    Contains("holds no certificate"));
}

}  // namespace doctor_test
