#include "pserver/snapshot.h"

#include <snapshot_generated.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "io/binary_reader.h"
#include "io/sealed.h"
#include "io/table_buffer.h"
#include "pserver/dump_on_disk.h"

namespace paddle {
namespace {

namespace form = paddle::fbs::snapshot;

constexpr char magic[] = "PDSNAP01";
constexpr uint64_t max_manifest = 128u << 20;
constexpr size_t value_alignment = 64;

form::Place place_of(const wire::Position& p) { return {p.pass, p.record, p.batch, p.samples}; }
wire::Position position_of(const form::Place& p) {
  return {p.pass(), p.record(), p.batch(), p.samples()};
}

std::vector<flatbuffers::Offset<form::Slice>> slices_of(flatbuffers::FlatBufferBuilder& b,
                                                        const Snapshot& s) {
  std::vector<flatbuffers::Offset<form::Slice>> out;
  for (const SnapshotSlice& x : s.slices) {
    const auto name = b.CreateString(x.info.name), grad = b.CreateString(x.info.grad);
    const auto steps = b.CreateVector(x.steps);
    out.push_back(form::CreateSlice(b, x.info.id, name, grad, x.info.block, x.version, steps));
  }
  return out;
}

// "table-2": the file with the rows of the third table; "table-2.1": those that changed since.
std::string table_file(size_t table, size_t dump) {
  return dump == 0 ? text("table-", table) : text("table-", table, ".", dump);
}

std::vector<flatbuffers::Offset<form::SparseTable>> tables_of(flatbuffers::FlatBufferBuilder& b,
                                                              const Snapshot& s) {
  std::vector<flatbuffers::Offset<form::SparseTable>> out;
  for (const SnapshotTable& t : s.tables) {
    const std::string spec = to_flatbuffer(t.info.spec);
    const auto bytes = b.CreateVector(reinterpret_cast<const uint8_t*>(spec.data()), spec.size());
    const auto steps = b.CreateVector(t.steps);
    std::vector<flatbuffers::Offset<form::Dump>> dumps;
    for (const DumpRecord& d : t.dumps)
      dumps.push_back(form::CreateDump(b, d.file.bytes, d.file.checksum, d.since, d.mark));
    const auto all = b.CreateVector(dumps);
    out.push_back(form::CreateSparseTable(b, t.info.id, t.info.part, t.info.parts, bytes, t.version,
                                          steps, all));
  }
  return out;
}

SnapshotTable snapshot_table(const form::SparseTable& t) {
  SnapshotTable out{
      .info = {t.id(), t.part(), t.parts(),
               table_spec_of({reinterpret_cast<const char*>(t.spec()->data()), t.spec()->size()})},
      .version = t.version(),
      .steps = numbers(t.steps()),
      .dump = {},
      .dumps = {}};
  if (t.dumps() != nullptr)
    for (const form::Dump* d : *t.dumps())
      out.dumps.push_back({{d->bytes(), d->checksum()}, d->since(), d->mark()});
  if (!out.dumps.empty()) out.mark = out.dumps.back().mark;
  return out;
}

std::vector<flatbuffers::Offset<form::Variable>> variables_of(
    flatbuffers::FlatBufferBuilder& b, const Snapshot& s, const std::vector<ValueRecord>& values) {
  std::vector<flatbuffers::Offset<form::Variable>> out;
  for (size_t i = 0; i < s.variables.size(); ++i) {
    const KeptVariable& v = s.variables[i];
    const auto name = b.CreateString(v.name);
    const auto dims = b.CreateVector(v.shape.begin(), static_cast<size_t>(v.shape.rank()));
    out.push_back(form::CreateVariable(b, name, static_cast<uint8_t>(v.dtype), dims,
                                       values[i].offset, values[i].bytes, values[i].crc32));
  }
  return out;
}

std::vector<flatbuffers::Offset<form::Member>> members_of(flatbuffers::FlatBufferBuilder& b,
                                                          const Snapshot& s) {
  std::vector<flatbuffers::Offset<form::Member>> out;
  for (const SnapshotMember& m : s.members) {
    const wire::LastPush last = m.last_push.value_or(wire::LastPush{});
    const form::Place begin = place_of(last.begin), end = place_of(last.end);
    out.push_back(
        form::CreateMember(b, m.finished, m.last_push.has_value(), last.step, &begin, &end));
  }
  return out;
}

SnapshotMember member_of(const form::Member& m) {
  SnapshotMember out{.finished = m.finished()};
  if (m.has_place() && m.begin() && m.end())
    out.last_push = {m.step(), position_of(*m.begin()), position_of(*m.end())};
  return out;
}

// Copied as bytes: the verifier does not see to the alignment of elements.
std::vector<form::Origin> origins_of(const form::Snapshot& f) {
  std::vector<form::Origin> out(f.origins() ? f.origins()->size() : 0);
  if (!out.empty())
    std::memcpy(static_cast<void*>(out.data()), f.origins()->Data(),
                out.size() * sizeof(form::Origin));
  return out;
}

Snapshot snapshot_of(const form::Snapshot& f, std::vector<ValueRecord>& values) {
  Snapshot s{
      .identity = {.job = f.job()->str(),
                   .program = f.training_program()->str(),
                   .set_by = "the snapshot of step " + std::to_string(f.step()),
                   .mode = static_cast<wire::Mode>(f.mode()),
                   .trainers = f.members()->size(),
                   .shard = f.shard(),
                   .shards = f.shards()},
      .init = f.values_digest()->str(),
      .configured_by = f.configured_by()->str(),
      .epoch = f.epoch(),
      .step = f.step(),
      .program = std::make_shared<const std::string>(f.program()->begin(), f.program()->end())};
  for (const form::Slice* x : *f.slices())
    s.slices.push_back(
        {{.id = x->id(), .name = x->name()->str(), .grad = x->grad()->str(), .block = x->block()},
         x->version(),
         numbers(x->steps())});
  for (const form::Variable* v : *f.variables()) {
    s.variables.push_back(
        {v->name()->str(), static_cast<DType>(v->dtype()), Shape(numbers(v->dims()))});
    values.push_back({v->offset(), v->bytes(), v->crc32()});
  }
  if (f.tables() != nullptr)
    for (const form::SparseTable* t : *f.tables()) s.tables.push_back(snapshot_table(*t));
  for (const form::Member* m : *f.members()) s.members.push_back(member_of(*m));
  for (const form::Origin& o : origins_of(f)) s.origins.push_back({o.instance(), o.version()});
  return s;
}

}  // namespace

std::string snapshot_name(uint64_t step) {
  char out[64];
  std::snprintf(out, sizeof out, "step-%012llu", static_cast<unsigned long long>(step));
  return out;
}

std::string write_manifest(const Snapshot& s, const std::vector<ValueRecord>& values) {
  flatbuffers::FlatBufferBuilder b;
  const auto slices = b.CreateVector(slices_of(b, s));
  const auto variables = b.CreateVector(variables_of(b, s, values));
  const auto members = b.CreateVector(members_of(b, s));
  const auto tables = b.CreateVector(tables_of(b, s));
  const auto job = b.CreateString(s.identity.job), digest = b.CreateString(s.identity.program);
  std::vector<form::Origin> from;
  for (const wire::Origin& o : s.origins) from.emplace_back(o.instance, o.version);
  const auto origins = b.CreateVectorOfStructs(from);
  const auto init = b.CreateString(s.init), by = b.CreateString(s.configured_by);
  const auto program =
      b.CreateVector(reinterpret_cast<const uint8_t*>(s.program->data()), s.program->size());
  b.Finish(form::CreateSnapshot(b, job, digest, static_cast<uint8_t>(s.identity.mode),
                                s.identity.shard, s.identity.shards, init, by, s.epoch, s.step,
                                program, slices, variables, members, tables, origins),
           form::SnapshotIdentifier());
  return seal(magic, b);
}

Snapshot read_manifest(std::string_view bytes, const std::string& name,
                       std::vector<ValueRecord>& values) {
  const Unsealed content = unseal(magic, bytes, name, "manifest of a snapshot");
  const auto need = [&](bool ok, const char* why) {
    require(ok, Error::Kind::data, "'", name, "' ", why);
  };
  flatbuffers::Verifier verifier(content.data(), content.bytes, 3,
                                 static_cast<flatbuffers::uoffset_t>(content.bytes / 8 + 1));
  need(content.bytes >= 8 && form::VerifySnapshotBuffer(verifier), "is damaged");
  const form::Snapshot& f = *form::GetSnapshot(content.data());
  need(f.mode() <= static_cast<uint8_t>(wire::Mode::geo) && f.members()->size() > 0 &&
           f.members()->size() <= 65535 &&
           (f.origins() == nullptr || f.origins()->size() <= wire::max_origins),
       "describes a job that is not possible");
  return snapshot_of(f, values);
}

namespace {

std::string sibling(const std::string& directory, uint64_t step) {
  return (std::filesystem::path(directory).parent_path() / snapshot_name(step)).string();
}

// The files of the snapshot that the changes of a table are added to, under a second name: they
// stay for as long as a snapshot has them. Returns what is known of them.
std::vector<DumpRecord> share_dumps(const SnapshotTable& t, size_t index, const std::string& base,
                                    const AtomicDirectory& to) {
  const std::string manifest = base + "/manifest";
  std::vector<ValueRecord> values;
  Snapshot from = read_manifest(read_file(manifest, max_manifest), manifest, values);
  require(from.step == t.base && index < from.tables.size() && from.tables[index].mark == t.since &&
              from.tables[index].info.id == t.info.id &&
              from.tables[index].info.part == t.info.part,
          Error::Kind::data, "the snapshot '", base,
          "' is another one than that to which the "
          "changes of the table '",
          t.info.spec.param, "' belong");
  for (size_t k = 0; k < from.tables[index].dumps.size(); ++k) {
    const std::string name = table_file(index, k), file = base + "/" + name;
    if (::link(file.c_str(), (to.temporary() + "/" + name).c_str()) != 0)
      throw io_error("share", file, errno);
  }
  return std::move(from.tables[index].dumps);
}

// All dumps of a table, after their order was checked.
std::shared_ptr<TableDump> open_dumps(const std::string& directory, const SnapshotTable& t,
                                      size_t index, DumpCheck when) {
  require(!t.dumps.empty(), Error::Kind::data, "the manifest of '", directory,
          "' names no rows of the table '", t.info.spec.param,
          "': it is damaged, or of another version of this program");
  std::vector<std::shared_ptr<TableDump>> files;
  uint64_t mark = 0;
  for (size_t k = 0; k < t.dumps.size(); ++k) {
    const DumpRecord& d = t.dumps[k];
    const std::string path = directory + "/" + table_file(index, k);
    auto file = std::make_shared<DumpOnDisk>(path, d.file);
    if (when == DumpCheck::first) file->check();
    PartHead head{};
    const PartBytes first = file->begin(sizeof head);
    if (first.size() == sizeof head) std::memcpy(&head, first.data(), sizeof head);
    files.push_back(std::move(file));
    require(d.since == mark && head.since == d.since && head.clock == d.mark, Error::Kind::data,
            "'", path, "' does not continue the rows before it: it holds the changes from mark ",
            head.since, " to ", head.clock, ", and those from ", mark, " to ", d.mark,
            " must follow");
    mark = d.mark;
  }
  return std::make_shared<DumpChain>(std::move(files));
}

}  // namespace

void write_snapshot(const std::string& directory, Snapshot& s) {
  AtomicDirectory out(directory);
  std::vector<ValueRecord> records;
  std::vector<std::string_view> parts;
  static const std::string padding(value_alignment, '\0');
  uint64_t at = 0;
  for (const Tensor& t : s.values) {
    records.push_back({at, t.bytes(), checksum(t.raw(), t.bytes())});
    parts.emplace_back(static_cast<const char*>(t.raw()), t.bytes());
    const size_t rest = (value_alignment - t.bytes() % value_alignment) % value_alignment;
    parts.emplace_back(padding.data(), rest);
    at += t.bytes() + rest;
  }
  out.write("values", parts);
  for (size_t i = 0; i < s.tables.size(); ++i) {
    SnapshotTable& t = s.tables[i];
    t.dumps.clear();
    if (t.since > 0) t.dumps = share_dumps(t, i, sibling(directory, t.base), out);
    const TableDump::Sum sum = t.dump->store(out, table_file(i, t.dumps.size()));
    t.dumps.push_back({sum, t.since, t.mark});
  }
  out.write("manifest", write_manifest(s, records));
  out.commit();
}

Snapshot read_snapshot(const std::string& directory, DumpCheck when) {
  require(is_file(directory + "/done"), Error::Kind::data, "the snapshot '", directory,
          "' was never finished");
  const std::string manifest = directory + "/manifest";
  std::vector<ValueRecord> records;
  Snapshot s = read_manifest(read_file(manifest, max_manifest), manifest, records);
  BinaryReader in(directory + "/values");
  for (size_t i = 0; i < records.size(); ++i) {
    const KeptVariable& v = s.variables[i];
    const int64_t elements = v.shape.numel();
    require(elements >= 0 && size_of(v.dtype) > 0 && records[i].bytes <= in.left() &&
                static_cast<uint64_t>(elements) == records[i].bytes / size_of(v.dtype),
            Error::Kind::data, "'", manifest, "' gives '", v.name, "' ", records[i].bytes,
            " bytes, which do not fit its shape ", v.shape, " or the ", in.left(),
            " bytes that are left");
    Tensor t(v.dtype, v.shape);
    in.read(t.raw(), t.bytes(), v.name);
    require(checksum(t.raw(), t.bytes()) == records[i].crc32, Error::Kind::data, "'", in.name(),
            "' was changed since it was written: the checksum of '", v.name, "' is wrong");
    const uint64_t rest = (value_alignment - t.bytes() % value_alignment) % value_alignment;
    in.bytes(rest, "padding");
    s.values.push_back(std::move(t));
  }
  in.expect_end("the last variable");
  for (size_t i = 0; i < s.tables.size(); ++i)
    s.tables[i].dump = open_dumps(directory, s.tables[i], i, when);
  return s;
}

}  // namespace paddle
