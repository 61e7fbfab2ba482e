// What the fuzz targets do with one input: each reads it as a file of its kind, and what could be
// read must survive being written and read again. Errors of ours are fine, anything else is a bug.
// Each returns whether the input could be read.
#pragma once

#include <string_view>

namespace paddle::fuzz {

bool tensor_file(std::string_view input);
bool model_file(std::string_view input);
bool program_buffer(std::string_view input);
bool train_state(std::string_view input);
// In proof_entries.cc. A token file; and what a stranger says before it has proven anything, to a
// server (first byte even) or to a client. True where it is proven.
bool token_file(std::string_view input);
bool handshake(std::string_view input);
bool job_file(std::string_view input);  // in job_entry.cc, as it needs the trainer
// In message_entry.cc, as it needs the pserver. The input is a head, sent to a shard that has a job
// by a trainer of that job.
bool message(std::string_view input);
// Ends that shard and its thread.
void end_messages();

}  // namespace paddle::fuzz
