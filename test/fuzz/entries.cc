#include "fuzz/entries.h"

#include <cstdlib>

#include "graph/dot.h"
#include "graph/text.h"
#include "io/checkpoint.h"
#include "io/model_file.h"
#include "io/program_buffer.h"
#include "io/tensor_file.h"

namespace paddle::fuzz {
namespace {

// Not an assert: it must also stop a release build.
void must(bool ok) {
  if (!ok) std::abort();
}

template <class Read>
void attempt(const Read& read) {
  try {
    read();
  } catch (const Error&) {
  }
}

}  // namespace

void tensor_file(std::string_view input) {
  attempt([&] {
    BinaryReader in(input, "input");
    const Tensor t = read_tensor(in);
    FileParts out;
    add_tensor(out, t);
    const std::string again = out.joined();
    BinaryReader twice(again, "again");
    must(read_tensor(twice).shape() == t.shape());
  });
  attempt([&] {
    BinaryReader in(input, "input");
    const SelectedRows r = read_selected_rows(in);
    FileParts out;
    add_selected_rows(out, r);
    const std::string again = out.joined();
    BinaryReader twice(again, "again");
    must(read_selected_rows(twice).rows == r.rows);
  });
}

void model_file(std::string_view input) {
  Program program;
  bool whole = false;
  attempt([&] {
    program = read_program(input, "input");
    whole = true;
  });
  if (!whole) return;
  const std::string once = write_program(program);
  must(write_program(read_program(once)) == once);
  attempt([&] { program_text(program); });
  attempt([&] { program_dot(program); });
}

void program_buffer(std::string_view input) {
  Program program;
  bool whole = false;
  attempt([&] {
    program = from_flatbuffer(input);
    whole = true;
  });
  if (!whole) return;
  const std::string once = to_flatbuffer(program);
  must(to_flatbuffer(from_flatbuffer(once)) == once);
  write_program(program);
}

void train_state(std::string_view input) {
  attempt([&] {
    const TrainState s = read_train_state(input, "input");
    must(read_train_state(write_train_state(s), "again") == s);
  });
}

}  // namespace paddle::fuzz
