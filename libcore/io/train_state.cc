#include <checkpoint_generated.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "io/checkpoint.h"

namespace paddle {
namespace {

// The head of the file: magic, bytes of the FlatBuffer behind it, their CRC-32.
struct Head {
  char magic[8];
  uint32_t bytes, crc32;
};
static_assert(sizeof(Head) == 16);
constexpr char magic[] = "PDTRAIN1";

uint32_t checksum(const void* data, size_t n) {
  return static_cast<uint32_t>(crc32_z(0, static_cast<const Bytef*>(data), n));
}

// Copied as bytes: the verifier does not see to the alignment of elements.
std::vector<uint64_t> numbers(const flatbuffers::Vector<uint64_t>* v) {
  std::vector<uint64_t> out(v ? v->size() : 0);
  if (!out.empty()) std::memcpy(out.data(), v->Data(), out.size() * sizeof(uint64_t));
  return out;
}

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
  Head head{};
  std::memcpy(head.magic, magic, sizeof head.magic);
  head.bytes = b.GetSize();
  head.crc32 = checksum(b.GetBufferPointer(), b.GetSize());
  std::string out(reinterpret_cast<const char*>(&head), sizeof head);
  return out.append(reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize());
}

TrainState read_train_state(std::string_view bytes, const std::string& name,
                            std::vector<FileRecord>* files) {
  const auto need = [&](bool ok, const char* why) {
    require(ok, Error::Kind::data, "'", name, "' ", why,
            "; go back to the checkpoint before it, or remove the file to train on from the "
            "parameters alone");
  };
  Head head;
  need(bytes.size() >= sizeof head, "is cut short");
  std::memcpy(&head, bytes.data(), sizeof head);
  need(std::memcmp(head.magic, magic, sizeof head.magic) == 0, "is no training state of ours");
  const size_t n = bytes.size() - sizeof head;
  need(head.bytes == n, "is cut short or has bytes too many");
  std::vector<uint64_t> aligned((n + 7) / 8);
  if (n > 0) std::memcpy(aligned.data(), bytes.data() + sizeof head, n);
  need(checksum(aligned.data(), n) == head.crc32, "was changed since it was saved");
  const auto* start = reinterpret_cast<const uint8_t*>(aligned.data());
  flatbuffers::Verifier verifier(start, n, 3, static_cast<flatbuffers::uoffset_t>(n / 8 + 1));
  need(n >= 8 && fbs::VerifyTrainStateBuffer(verifier), "is damaged");
  const fbs::TrainState& from = *fbs::GetTrainState(start);
  if (files != nullptr && from.files() != nullptr)
    for (const fbs::File* f : *from.files())
      files->push_back({f->name()->str(), f->bytes(), f->crc32()});
  return state_of(from, name);
}

}  // namespace paddle
