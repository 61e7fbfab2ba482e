#include "trainer/job_file.h"

#include <flatbuffers/idl.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/suggest.h"
#include "job_generated.h"
#include "job_schema.h"

namespace paddle {
namespace {

namespace fb = flatbuffers;
constexpr uint64_t max_job_bytes = 16 << 20;

bool is_integer(fb::BaseType t) { return t == fb::BASE_TYPE_INT || t == fb::BASE_TYPE_LONG; }

std::string told_type(const fb::Type& t) {
  switch (t.base_type) {
    case fb::BASE_TYPE_STRING: return "a text";
    case fb::BASE_TYPE_BOOL: return "true or false";
    case fb::BASE_TYPE_STRUCT: return "an object { … }";
    case fb::BASE_TYPE_VECTOR: return "a list of which each is " + told_type(t.VectorType());
    default: return is_integer(t.base_type) ? "a whole number" : "a number";
  }
}

// Walks the tree along the schema; makes lists of single values where the schema wants lists.
class Checker {
 public:
  Checker(Problems& problems, Options& options) : problems_(problems), options_(options) {}

  void root(JsonValue& tree, const fb::StructDef& def) {
    if (tree.kind != JsonValue::Kind::object) {
      problems_.add(tree.line, text("a job file is one object { … }, found ", tree.told()));
      return;
    }
    std::vector<JsonMember> rest;
    for (JsonMember& m : tree.members) {
      if (def.fields.Lookup(m.key) != nullptr) {
        rest.push_back(std::move(m));
      } else {
        option(m, def);
      }
    }
    tree.members = std::move(rest);
    object(tree, def, "the job");
  }

 private:
  static std::vector<std::string> names(const fb::StructDef& def) {
    std::vector<std::string> out;
    for (const fb::FieldDef* f : def.fields.vec) out.push_back(f->name);
    return out;
  }

  void option(const JsonMember& m, const fb::StructDef& def) {
    const std::string where = text(problems_.file(), ":", m.line);
    const std::string wrong = options_.set_from_file(m.key, m.value.text, where);
    if (wrong.empty()) return;
    const std::string guess = options_.has(m.key) ? "" : nearest(m.key, names(def));
    problems_.add(m.line, guess.empty() ? wrong
                                        : text("'", m.key, "' is no key of a job (did you mean '",
                                               guess, "'?)"));
  }

  void object(JsonValue& v, const fb::StructDef& def, const std::string& what) {
    for (JsonMember& m : v.members) {
      const fb::FieldDef* field = def.fields.Lookup(m.key);
      if (field == nullptr) {
        problems_.add(m.line,
                      text(what, " has no key '", m.key, "'", did_you_mean(m.key, names(def))));
        continue;
      }
      value(m.value, field->value.type, text("'", m.key, "'"));
    }
    for (const fb::FieldDef* f : def.fields.vec)
      if (f->IsRequired() && v.find(f->name) == nullptr)
        problems_.add(v.line,
                      text(what, " lacks '", f->name, "' (", told_type(f->value.type), ")"));
  }

  void value(JsonValue& v, const fb::Type& type, const std::string& what) {
    using Kind = JsonValue::Kind;
    const auto refuse = [&] {
      problems_.add(v.line, text(what, " must be ", told_type(type), ", found ", v.told()));
    };
    if (type.base_type == fb::BASE_TYPE_VECTOR) {
      if (v.kind != Kind::list) {
        JsonValue list;
        list.kind = Kind::list;
        list.line = v.line;
        list.items.push_back(std::move(v));
        v = std::move(list);
      }
      for (JsonValue& item : v.items) value(item, type.VectorType(), what);
    } else if (type.base_type == fb::BASE_TYPE_STRUCT) {
      if (v.kind != Kind::object) return refuse();
      object(v, *type.struct_def, what);
    } else if (type.base_type == fb::BASE_TYPE_STRING) {
      if (v.kind != Kind::text) refuse();
    } else if (type.base_type == fb::BASE_TYPE_BOOL) {
      if (v.kind != Kind::boolean) refuse();
    } else if (v.kind != Kind::number) {
      refuse();
    } else if (is_integer(type.base_type) && v.text.find_first_of(".eE") != std::string::npos) {
      refuse();
    } else if (v.text.size() > 40) {
      problems_.add(v.line, text(what, ": a number of ", v.text.size(), " digits is too long"));
    }
  }

  Problems& problems_;
  Options& options_;
};

JsonArguments split_arguments(const std::string& list) {
  JsonArguments out;
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    const std::string part = list.substr(at, end - at);
    const size_t equals = part.find('=');
    require(equals != std::string::npos && equals > 0, Error::Kind::config, "--config_args: '",
            part, "' must be name=value");
    out[part.substr(0, equals)] = part.substr(equals + 1);
    at = end + 1;
  }
  return out;
}

}  // namespace

void Problems::add(int line, const std::string& sentence) { list_.emplace_back(line, sentence); }

void Problems::report() const {
  if (list_.empty()) return;
  auto sorted = list_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string all;
  for (const auto& [line, sentence] : sorted)
    all += text(all.empty() ? "" : "\n", file_, ":", line, ": ", sentence);
  throw Error(Error::Kind::config,
              sorted.size() == 1 ? "" : text(sorted.size(), " mistakes in the job:\n"), all);
}

JobFile::JobFile(std::string file) : path(std::move(file)) {}
JobFile::JobFile(JobFile&&) noexcept = default;
JobFile::~JobFile() = default;

JobFile parse_job(const std::string& path, std::string source, const std::string& config_args,
                  Options& options) {
  JobFile file(path);
  file.source = std::move(source);
  file.tree = parse_json(file.source, path, split_arguments(config_args));
  JsonValue typed = file.tree;

  fb::Parser parser;
  require(parser.Parse(job_schema), Error::Kind::config,
          "the built-in job schema is broken: ", parser.error_);
  Problems problems(path);
  Checker(problems, options).root(typed, *parser.root_struct_def_);
  problems.report();

  require(parser.ParseJson(json_text(typed).c_str(), path.c_str()), Error::Kind::config, path, ": ",
          parser.error_);
  file.job.reset(fb::GetRoot<job::Job>(parser.builder_.GetBufferPointer())->UnPack());
  return file;
}

JobFile read_job(const std::string& path, const std::string& config_args, Options& options) {
  return parse_job(path, read_file(path, max_job_bytes), config_args, options);
}

}  // namespace paddle
