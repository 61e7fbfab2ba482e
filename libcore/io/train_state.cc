#include <checkpoint_generated.h>

#include <algorithm>
#include <cstring>

#include "io/checkpoint.h"
#include "io/sealed.h"

namespace paddle {
namespace {

constexpr char magic[] = "PDTRAIN1";

TrainState state_of(const fbs::TrainState& from, const std::string& name) {
  TrainState s{.step = from.step(),
               .pass = from.pass(),
               .record = from.record(),
               .samples = from.samples(),
               .seeds = numbers(from.seeds()),
               .program_digest = from.program_digest() ? from.program_digest()->str() : "",
               .extra = {}};
  if (from.extra() != nullptr)
    for (const fbs::Pair* p : *from.extra())
      require(s.extra.emplace(p->key()->str(), p->value()->str()).second, Error::Kind::data, "'",
              name, "' holds '", p->key()->str(), "' twice");
  return s;
}

}  // namespace

std::string write_train_state(const TrainState& state, const std::vector<FileRecord>& given) {
  flatbuffers::FlatBufferBuilder b;
  std::vector<flatbuffers::Offset<fbs::Pair>> pairs;
  for (const auto& [key, value] : state.extra) {
    const auto k = b.CreateString(key), v = b.CreateString(value);
    pairs.push_back(fbs::CreatePair(b, k, v));
  }
  std::vector<FileRecord> sorted = given;
  std::sort(sorted.begin(), sorted.end(),
            [](const FileRecord& a, const FileRecord& c) { return a.name < c.name; });
  std::vector<flatbuffers::Offset<fbs::File>> files;
  for (const FileRecord& f : sorted)
    files.push_back(fbs::CreateFile(b, b.CreateString(f.name), f.bytes, f.crc32));
  const auto seeds = b.CreateVector(state.seeds);
  const auto digest = b.CreateString(state.program_digest);
  const auto extra = b.CreateVector(pairs);
  const auto all = b.CreateVector(files);
  b.Finish(fbs::CreateTrainState(b, state.step, state.pass, state.record, state.samples, seeds,
                                 digest, extra, all),
           fbs::TrainStateIdentifier());
  return seal(magic, b);
}

TrainState read_train_state(std::string_view bytes, const std::string& name,
                            std::vector<FileRecord>* files) {
  constexpr const char* remedy =
      "; go back to the checkpoint before it, or remove the file to train on from the parameters "
      "alone";
  const Unsealed content = unseal(magic, bytes, name, "training state of ours", remedy);
  flatbuffers::Verifier verifier(content.data(), content.bytes, 3,
                                 static_cast<flatbuffers::uoffset_t>(content.bytes / 8 + 1));
  require(content.bytes >= 8 && fbs::VerifyTrainStateBuffer(verifier), Error::Kind::data, "'", name,
          "' is damaged", remedy);
  const fbs::TrainState& from = *fbs::GetTrainState(content.data());
  if (files != nullptr && from.files() != nullptr)
    for (const fbs::File* f : *from.files())
      files->push_back({f->name()->str(), f->bytes(), f->crc32()});
  return state_of(from, name);
}

}  // namespace paddle
