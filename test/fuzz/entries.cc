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

// Whether it went through.
template <class Read>
bool attempt(const Read& read) {
  try {
    read();
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

bool tensor_file(std::string_view input) {
  const bool tensor = attempt([&] {
    BinaryReader in(input, "input");
    const Tensor t = read_tensor(in);
    FileParts out;
    add_tensor(out, t);
    const std::string again = out.joined();
    BinaryReader twice(again, "again");
    must(read_tensor(twice).shape() == t.shape());
  });
  const bool rows = attempt([&] {
    BinaryReader in(input, "input");
    const SelectedRows r = read_selected_rows(in);
    FileParts out;
    add_selected_rows(out, r);
    const std::string again = out.joined();
    BinaryReader twice(again, "again");
    must(read_selected_rows(twice).rows == r.rows);
  });
  return tensor || rows;
}

bool model_file(std::string_view input) {
  Program program;
  if (!attempt([&] { program = read_program(input, "input"); })) return false;
  const std::string once = write_program(program);
  must(write_program(read_program(once)) == once);
  attempt([&] { program_text(program); });
  attempt([&] { program_dot(program); });
  return true;
}

bool program_buffer(std::string_view input) {
  Program program;
  if (!attempt([&] { program = from_flatbuffer(input); })) return false;
  const std::string once = to_flatbuffer(program);
  must(to_flatbuffer(from_flatbuffer(once)) == once);
  write_program(program);
  return true;
}

bool train_state(std::string_view input) {
  return attempt([&] {
    const TrainState s = read_train_state(input, "input");
    must(read_train_state(write_train_state(s), "again") == s);
  });
}

}  // namespace paddle::fuzz
