// Rows about tokens and certificates (docs/security.md). None of them stands in a job file: that is
// copied around and printed.
#include "options/tables.h"

namespace paddle {
namespace {

const std::string security = "Security";

Option file_row(const std::string& name, const std::string& variable, const std::string& help) {
  return {.name = name,
          .default_value = "",
          .help = help,
          .group = security,
          .environment = {variable},
          .in_job_file = false};
}

Option token_row() {
  return file_row("token_file", "PADDLE_TOKEN_FILE",
                  "File with the job's token, which its processes prove to each other; readable by "
                  "its user only ('paddle token --new FILE' makes one)");
}

OptionTable with_answers(OptionTable rows) {
  const OptionTable more = answer_rows();
  rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

}  // namespace

OptionTable security_rows() {
  return {
      token_row(),
      file_row("cert_file", "PADDLE_CERT_FILE",
               "Certificate of this process in PEM form, for TLS ('paddle certs' makes one)"),
      file_row("key_file", "PADDLE_KEY_FILE", "Its private key, readable by its user only"),
      file_row("ca_file", "PADDLE_CA_FILE",
               "Certificate of the CA that must have signed the other side's certificate"),
  };
}

Option insecure_row() {
  return {.name = "insecure",
          .type = OptionType::flag,
          .default_value = "false",
          .help =
              "Let other machines connect without token and certificates: anybody who reaches "
              "the port can read and change the model",
          .group = security,
          .in_job_file = false};
}

OptionTable token_options() {
  const std::string group = "Tokens";
  return with_answers({
      {"new", OptionType::text, "", "File to make, with a new token of a job", group},
      token_row(),
      {"role", OptionType::text, "",
       "What a token derived from token_file is for: trainer, trainer-N, observer or admin", group},
      {"out", OptionType::text, "", "File to make, with the derived token", group},
      {"replace", OptionType::flag, "false", "Put the new file in the place of an older one",
       group},
  });
}

OptionTable certs_options() {
  const std::string group = "Certificates";
  return with_answers({
      {"dir", OptionType::text, "certs",
       "Directory for the files; a CA that is there (ca.pem, ca.key) signs the new certificates",
       group},
      {"hosts", OptionType::text, "",
       "Names and addresses of the pservers as in pservers, separated by commas; localhost and "
       "127.0.0.1 are added",
       group},
      {"trainers", OptionType::integer, "0",
       "Also make a certificate for each of so many trainers, besides the one for any trainer",
       group, between(0, 65535)},
      {"days", OptionType::integer, "365", "Days that the certificates are valid", group,
       between(1, 3650)},
      {"revoke", OptionType::text, "",
       "Revoke a certificate and make none: the role that it is for, or its file; ca.pem "
       "then has a list of these",
       group},
  });
}

}  // namespace paddle
