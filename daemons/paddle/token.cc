// paddle token and paddle certs: what processes of a job prove themselves with.
#include "wire/token.h"

#include <iostream>

#include "base/error.h"
#include "options/program.h"
#include "options/tables.h"
#include "paddle/commands.h"
#include "wire/make_certificates.h"

namespace paddle {
namespace {

// Nothing of a token goes to the screen: terminals and their logs keep what they show.
void derive_token(const Options& options) {
  const std::string &from = options.text("token_file"), &out = options.text("out");
  require(!from.empty() && !out.empty(), Error::Kind::config,
          "--role needs --token_file with the job's token, and --out for the new file");
  const std::optional<wire::Grant> grant = wire::grant_named(options.text("role"));
  require(grant && grant->kind != wire::Grant::Kind::job, Error::Kind::config,
          "--role=", options.text("role"), " is none of trainer, trainer-N, observer and admin");
  const wire::Token job = wire::read_token(from);
  require(job.grant.kind == wire::Grant::Kind::job, Error::Kind::config, "the token file '", from,
          "' is for '", name_of(job.grant), "': others are derived from the job's own token only");
  write_secret_file(out, wire::derived_token_text(job, *grant).bytes(), options.flag("replace"));
  std::cout << "made " << out << ": a token for '" << name_of(*grant) << "'\n";
}

std::vector<std::string> hosts_of(const std::string& list) {
  std::vector<std::string> out{"localhost", "127.0.0.1"};
  std::string word;
  for (const char c : list + ",") {
    if (c != ',' && c != ' ') word += c;
    if (c != ',' || word.empty()) continue;
    if (word != out[0] && word != out[1]) out.push_back(word);
    word.clear();
  }
  return out;
}

}  // namespace

int token_main(std::span<const std::string> arguments) {
  const Options options = Options::parse(arguments, current_environment(), token_options());
  if (answer_help(options,
                  "usage: paddle token --new FILE\n"
                  "       paddle token --token_file=FILE --role=observer --out=FILE2\n"
                  "Makes a token of a job, or one that allows less (docs/security.md).",
                  std::cout) ||
      answer_print_config(options, std::cout))
    return 0;
  const std::string& path = options.text("new");
  require(path.empty() != options.text("role").empty(), Error::Kind::config,
          "give --new FILE for the token of a job, or --role, --token_file and --out for one that "
          "allows less");
  if (path.empty()) {
    derive_token(options);
    return 0;
  }
  write_secret_file(path, wire::new_token_text().bytes(), options.flag("replace"));
  std::cout << "made " << path << ": give it to all processes of the job as --token_file\n";
  return 0;
}

int certs_main(std::span<const std::string> arguments) {
  const Options options = Options::parse(arguments, current_environment(), certs_options());
  if (answer_help(options,
                  "usage: paddle certs --hosts=ps0,ps1 [--dir=certs] [--trainers=N] [--days=365]\n"
                  "       paddle certs --revoke=trainer-3 [--dir=certs]\n"
                  "Makes a CA and certificates for pservers, trainers, observers and admins.",
                  std::cout) ||
      answer_print_config(options, std::cout))
    return 0;
  if (const std::string& what = options.text("revoke"); !what.empty()) {
    const std::string& directory = options.text("dir");
    std::cout << "revoked " << wire::revoke_certificate(directory, what) << ": copy " << directory
              << "/ca.pem to all machines of the job; connections that are open stay\n";
    return 0;
  }
  std::vector<wire::CertificateOrder> orders{{"pserver", hosts_of(options.text("hosts"))},
                                             {"trainer", {}},
                                             {"observer", {}},
                                             {"admin", {}}};
  for (int64_t i = 0; i < options.integer("trainers"); ++i)
    orders.push_back({text("trainer-", i), {}});
  const auto made = wire::make_certificates(options.text("dir"), orders,
                                            {.days = static_cast<int>(options.integer("days"))});
  for (const std::string& path : made) std::cout << "made " << path << "\n";
  std::cout << "keep " << options.text("dir")
            << "/ca.key where no other user and no node reads it: who has it can be anybody\n";
  return 0;
}

}  // namespace paddle
