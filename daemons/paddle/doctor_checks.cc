#include "paddle/doctor_checks.h"

#include <algorithm>
#include <ctime>

#include "base/error.h"
#include "base/machine_memory.h"
#include "obs/json.h"

namespace paddle {
namespace {

using enum Finding::Level;

constexpr uint64_t mib = 1 << 20;
constexpr uint64_t usual_files = 4096, files_beside_trainers = 100, files_of_trainer = 2;
constexpr uint64_t locked_keys = 64 << 10;
constexpr uint64_t little_memory = 512 * mib;
constexpr uint64_t too_little_disk = 100 * mib, little_disk = 2048 * mib;
constexpr uint64_t few_files = 1000;
constexpr uint64_t small_buffer = mib;
constexpr double day_seconds = 86400, soon_days = 14;

std::string amount(uint64_t value) {
  return value == unlimited ? "without a limit" : std::to_string(value);
}

bool has_word(const std::string& list, const std::string& word) {
  return (" " + list + " ").find(" " + word + " ") != std::string::npos;
}

std::string date_text(double unix_time) {
  const auto time = static_cast<time_t>(unix_time);
  tm parts{};
  ::gmtime_r(&time, &parts);
  char out[32];
  std::strftime(out, sizeof out, "%Y-%m-%d", &parts);
  return out;
}

Finding check_certificate(const CredentialFacts::Certificate& c, double now) {
  const std::string role = c.role.empty() ? "" : " (" + c.role + ")";
  const std::string renew = "make a new one: paddle certs (docs/security.md)";
  if (!c.problem.empty()) return {problem, "certificate", c.problem, renew};
  if (now < c.from)
    return {problem, "certificate",
            text(c.path, role, " is valid from ", date_text(c.from), " on only"),
            "see that the clock of this machine is right"};
  if (now > c.until)
    return {problem, "certificate", text(c.path, role, " expired on ", date_text(c.until)), renew};
  const bool soon = c.until - now < soon_days * day_seconds;
  return {soon ? warning : ok, "certificate",
          text(c.path, role, " is valid until ", date_text(c.until)), soon ? renew : ""};
}

}  // namespace

const char* name_of(Finding::Level level) {
  return level == ok ? "ok" : level == warning ? "warning" : "problem";
}

Finding check_port(const PortFacts& p) {
  const std::string name = text("port ", p.port);
  if (p.free) return {ok, name, "is free for a pserver on this machine", ""};
  return {problem, name,
          text("cannot be listened on: ", p.why, p.holder.empty() ? "" : "; held by " + p.holder),
          "end that process, or give the pserver another --port"};
}

Findings check_limits(const LimitFacts& l) {
  Findings out;
  const auto needed = files_of_trainer * static_cast<uint64_t>(l.trainers) + files_beside_trainers;
  if (l.open_files < needed)
    out.push_back({problem, "open files",
                   text("a process may open ", l.open_files, ", and a pserver of ", l.trainers,
                        " trainers needs ", needed),
                   "raise the hard limit: ulimit -Hn, LimitNOFILE= of systemd"});
  else if (l.open_files < usual_files)
    out.push_back({warning, "open files",
                   text("a process may open ", l.open_files, "; each trainer takes ",
                        files_of_trainer, " of a pserver"),
                   "raise the hard limit: ulimit -Hn, LimitNOFILE= of systemd"});
  else
    out.push_back({ok, "open files", "a process may open " + amount(l.open_files), ""});
  if (l.locked_memory < locked_keys)
    out.push_back({warning, "locked memory",
                   text("only ", l.locked_memory,
                        " bytes: keys and tokens may be written to the "
                        "swap file"),
                   "raise the limit to 64 KiB: ulimit -l, LimitMEMLOCK= of systemd"});
  else
    out.push_back({ok, "locked memory", "is enough for keys and tokens", ""});
  if (l.address_space != unlimited)
    out.push_back({warning, "address space",
                   text("is limited to ", memory_text(l.address_space),
                        ": processes end without memory though the machine has some"),
                   "lift it (ulimit -v unlimited), and use --memory_limit of the pserver"});
  return out;
}

Finding check_memory(const MemoryFacts& m) {
  std::string words = text(memory_text(m.available), " available of ", memory_text(m.usable));
  if (m.usable < m.machine)
    words +=
        text(" (the control group allows that much of the machine's ", memory_text(m.machine), ")");
  if (m.available >= little_memory) return {ok, "memory", words, ""};
  return {warning, "memory", words, "end other programs, or train on another machine"};
}

Finding check_directory(const DirectoryFacts& d) {
  const std::string name = d.purpose;
  if (d.late)
    return {problem, name, text("the file system of ", d.path, " does not answer"),
            "see whether its server is there (mount, df)"};
  if (!d.problem.empty())
    return {problem, name, text("nothing can be written to ", d.path, ": ", d.problem),
            "choose another directory, or change its owner or mode"};
  const std::string words =
      text(d.path, " has ", memory_text(d.free_bytes), " free of ", memory_text(d.bytes));
  const std::string remedy = "delete older models and snapshots there, or choose another directory";
  if (d.free_bytes < too_little_disk) return {problem, name, words, remedy};
  if (d.files > 0 && d.free_files < few_files)
    return {warning, name, text(d.path, " has room for ", d.free_files, " files only"), remedy};
  return {d.free_bytes < little_disk ? warning : ok, name, words,
          d.free_bytes < little_disk ? remedy : ""};
}

Findings check_processor(const ProcessorFacts& p) {
  Findings out;
  if (p.vectors)
    out.push_back({ok, "kernels", "use the instructions " + p.instructions, ""});
  else
    out.push_back({warning, "kernels",
                   "the processor has no AVX, so the plain kernels run, several times slower",
                   "use a newer processor; in a virtual machine pass the host's instructions on"});
  if (p.threads > p.usable)
    out.push_back(
        {warning, "processors",
         text(p.usable, " for this process, and trainer_count asks for ", p.threads, " threads"),
         text("give --trainer_count=", p.usable, ", or more processors")});
  else
    out.push_back({ok, "processors", text(p.usable, " for this process"), ""});
  return out;
}

Findings check_blas(const BlasFacts& b) {
  Findings out;
  if (!b.problem.empty())
    out.push_back({problem, "matrix products", b.problem, "install it, or unset PADDLE_BLAS"});
  else
    out.push_back({ok, "matrix products",
                   text("large ones by ", b.chosen, ", on the threads of trainer_count"), ""});
  const auto library = [&](const char* name, const std::string& core, const std::string& why) {
    out.push_back({ok, name, why.empty() ? "is there, for " + core : "is not used: " + why, ""});
  };
  library("OpenBLAS", b.openblas, b.openblas_problem);
  library("oneDNN", b.onednn, b.onednn_problem);
  return out;
}

Findings check_network(const NetworkFacts& n) {
  Findings out;
  if (!n.congestion.empty()) {
    const bool paced = n.congestion == "bbr" && !has_word(n.allowed, "reno");
    out.push_back({paced ? warning : ok, "congestion",
                   paced ? "bbr paces connections within this machine to a third of their speed, "
                           "and reno, which they would use, is not allowed"
                         : n.congestion + "; reno within this machine",
                   paced ? "sysctl -w net.ipv4.tcp_allowed_congestion_control='bbr reno'" : ""});
  }
  if (n.receive_most > 0 && n.send_most > 0) {
    const bool small = std::min(n.receive_most, n.send_most) < small_buffer;
    out.push_back({small ? warning : ok, "socket buffers",
                   text("grow to ", memory_text(n.receive_most), " for receiving and ",
                        memory_text(n.send_most), " for sending"),
                   small ? "sysctl -w net.ipv4.tcp_rmem='4096 131072 6291456' "
                           "net.ipv4.tcp_wmem='4096 16384 4194304'"
                         : ""});
  }
  return out;
}

Finding check_huge_pages(const HugePageFacts& p) {
  if (p.mode.empty()) return {ok, "huge pages", "the kernel does not say whether it has them", ""};
  if (p.mode != "never") return {ok, "huge pages", p.mode, ""};
  return {warning, "huge pages",
          "are off: rows of large tables are found a third more slowly, as each needs the address "
          "of another page",
          "echo madvise >/sys/kernel/mm/transparent_hugepage/enabled"};
}

Findings check_credentials(const CredentialFacts& c) {
  Findings out;
  if (!c.token_problem.empty())
    out.push_back({problem, "token", c.token_problem,
                   "copy the job's token again, with chmod 600 (docs/security.md)"});
  else if (!c.token_file.empty())
    out.push_back({ok, "token",
                   text(c.token_file, " is for '", c.token_grant,
                        "', does not expire and is closed to others"),
                   ""});
  for (const CredentialFacts::Certificate& one : c.certificates)
    out.push_back(check_certificate(one, c.now));
  if (!c.tls_problem.empty())
    out.push_back({problem, "TLS", c.tls_problem,
                   "give --cert_file, --key_file and --ca_file of one 'paddle certs'"});
  return out;
}

std::string findings_text(const Findings& findings) {
  size_t width = 0, warnings = 0, problems = 0;
  for (const Finding& f : findings) {
    width = std::max(width, f.check.size());
    warnings += f.level == warning;
    problems += f.level == problem;
  }
  std::string out;
  constexpr size_t level_width = 7;
  for (const Finding& f : findings) {
    const std::string level = name_of(f.level);
    out += text(level, std::string(level_width - level.size(), ' '), "  ", f.check,
                std::string(width - f.check.size(), ' '), "  ", f.what, "\n");
    if (!f.remedy.empty()) out += text(std::string(level_width + 2, ' '), "-> ", f.remedy, "\n");
  }
  const auto count = [](size_t n, const char* what) {
    return text(n, " ", what, n == 1 ? "" : "s");
  };
  return out + text(count(problems, "problem"), ", ", count(warnings, "warning"), ", ",
                    findings.size() - warnings - problems, " ok\n");
}

std::string findings_json(const Findings& findings) {
  const auto count = [&](Finding::Level level) {
    return static_cast<uint64_t>(std::count_if(findings.begin(), findings.end(),
                                               [&](const Finding& f) { return f.level == level; }));
  };
  return JsonObject()
             .add("problems", count(problem))
             .add("warnings", count(warning))
             .raw("findings", json_list(findings,
                                        [](const Finding& f) {
                                          return JsonObject()
                                              .add("level", name_of(f.level))
                                              .add("check", f.check)
                                              .add("what", f.what)
                                              .add("remedy", f.remedy)
                                              .done();
                                        }))
             .done() +
         "\n";
}

}  // namespace paddle
