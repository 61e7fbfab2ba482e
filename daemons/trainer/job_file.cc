#include "trainer/job_file.h"

#include <flatbuffers/idl.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "base/suggest.h"
#include "job_generated.h"
#include "job_schema.h"
#include "trainer/model.h"

namespace paddle {
namespace {

namespace fb = flatbuffers;
constexpr uint64_t max_job_bytes = 16 << 20;

bool is_integer(fb::BaseType t) { return t == fb::BASE_TYPE_INT || t == fb::BASE_TYPE_LONG; }

// The kind of value that a plain field takes.
JsonValue::Kind kind_of(const fb::Type& t) {
  if (t.base_type == fb::BASE_TYPE_STRING) return JsonValue::Kind::text;
  return t.base_type == fb::BASE_TYPE_BOOL ? JsonValue::Kind::boolean : JsonValue::Kind::number;
}

bool stands_alone(const fb::FieldDef& f) { return f.attributes.Lookup("alone") != nullptr; }

std::string told_type(const fb::Type& t) {
  switch (t.base_type) {
    case fb::BASE_TYPE_STRING: return "a text";
    case fb::BASE_TYPE_BOOL: return "true or false";
    case fb::BASE_TYPE_STRUCT: {
      std::string out = "an object { … }";
      for (const fb::FieldDef* f : t.struct_def->fields.vec)
        if (stands_alone(*f)) out += " or " + told_type(f->value.type);
      return out;
    }
    case fb::BASE_TYPE_VECTOR: return "a list of which each is " + told_type(t.VectorType());
    default: return is_integer(t.base_type) ? "a whole number" : "a number";
  }
}

JsonValue in_list(JsonValue v) {
  JsonValue list;
  list.kind = JsonValue::Kind::list;
  list.line = v.line;
  list.items.push_back(std::move(v));
  return list;
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
    using Kind = JsonValue::Kind;
    if (options_.has(m.key) && (m.value.kind == Kind::list || m.value.kind == Kind::object))
      return problems_.add(m.line, text(m.key, " must be one value, found ", m.value.told()));
    const std::string where = text(problems_.file(), ":", m.line);
    const std::string wrong = options_.set_from_file(m.key, m.value.text, where);
    if (wrong.empty()) return;
    const std::string guess = options_.has(m.key) ? "" : nearest(m.key, names(def));
    problems_.add(m.line, guess.empty() ? wrong
                                        : text("'", m.key, "' is no key of a job (did you mean '",
                                               guess, "'?)"));
  }

  void object(JsonValue& v, const fb::StructDef& def, const std::string& what) {
    // null is the same as leaving the key out
    std::erase_if(v.members,
                  [](const JsonMember& m) { return m.value.kind == JsonValue::Kind::null; });
    for (JsonMember& m : v.members) {
      const fb::FieldDef* field = def.fields.Lookup(m.key);
      if (field == nullptr) {
        problems_.add(m.line,
                      text(what, " has no key '", m.key, "'", did_you_mean(m.key, names(def))));
        continue;
      }
      if (field->attributes.Lookup("or_bool") != nullptr) as_number(m.value);
      value(m.value, field->value.type, text("'", m.key, "'"));
    }
    for (const fb::FieldDef* f : def.fields.vec)
      if (f->IsRequired() && v.find(f->name) == nullptr)
        problems_.add(v.line,
                      text(what, " lacks '", f->name, "' (", told_type(f->value.type), ")"));
  }

  void value(JsonValue& v, const fb::Type& type, const std::string& what) {
    const size_t before = problems_.count();
    check_value(v, type, what);
    v.broken = problems_.count() > before;
  }

  void check_value(JsonValue& v, const fb::Type& type, const std::string& what) {
    using Kind = JsonValue::Kind;
    if (type.base_type == fb::BASE_TYPE_VECTOR) {
      if (v.kind != Kind::list) v = in_list(std::move(v));
      for (JsonValue& item : v.items) value(item, type.VectorType(), what);
    } else if (type.base_type == fb::BASE_TYPE_STRUCT) {
      if (v.kind != Kind::object) in_object(v, *type.struct_def);
      if (v.kind != Kind::object) return refuse(v, type, what);
      object(v, *type.struct_def, what);
    } else if (v.kind != kind_of(type)) {
      refuse(v, type, what);
    } else if (v.kind == Kind::number) {
      number(v, type, what);
    }
  }

  void refuse(const JsonValue& v, const fb::Type& type, const std::string& what) {
    problems_.add(v.line, text(what, " must be ", told_type(type), ", found ", v.told()));
  }

  void number(const JsonValue& v, const fb::Type& type, const std::string& what) {
    if (v.text.size() > 40) {
      problems_.add(v.line, text(what, ": a number of ", v.text.size(), " digits is too long"));
    } else if (!is_integer(type.base_type)) {
      const double limit = type.base_type == fb::BASE_TYPE_FLOAT
                               ? double{std::numeric_limits<float>::max()}
                               : std::numeric_limits<double>::max();
      if (!(std::abs(std::strtod(v.text.c_str(), nullptr)) <= limit))
        problems_.add(v.line, text(what, ": ", v.text, " is too large a number"));
    } else if (v.text.find_first_of(".eE") != std::string::npos) {
      refuse(v, type, what);
    } else {
      int64_t i = 0;
      const char* end = v.text.data() + v.text.size();
      const bool fits = std::from_chars(v.text.data(), end, i).ec == std::errc{};
      if (!fits || (type.base_type == fb::BASE_TYPE_INT && i != static_cast<int32_t>(i)))
        problems_.add(v.line, text(what, ": ", v.text, " is too large a number"));
    }
  }

  static void as_number(JsonValue& v) {
    if (v.kind != JsonValue::Kind::boolean) return;
    v.kind = JsonValue::Kind::number;
    v.text = v.text == "true" ? "1" : "0";
  }

  // Puts a value into the object that it stands for, if there is one.
  static void in_object(JsonValue& v, const fb::StructDef& def) {
    for (const fb::FieldDef* f : def.fields.vec) {
      if (!stands_alone(*f) || v.kind != kind_of(f->value.type)) continue;
      JsonValue object;
      object.kind = JsonValue::Kind::object;
      object.line = v.line;
      object.members.push_back({f->name, v.line, std::move(v)});
      v = std::move(object);
      return;
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

// Leaves out of a list what has mistakes, in both trees, and notes the names.
void leave_out_broken(const char* key, JsonValue& typed, JobFile& file) {
  JsonValue *list = typed.find(key), *as_written = file.tree.find(key);
  if (list == nullptr || !list->broken) return;
  if (as_written->kind != JsonValue::Kind::list) *as_written = in_list(*as_written);
  for (size_t i = list->items.size(); i-- > 0;) {
    if (!list->items[i].broken) continue;
    if (const JsonValue* name = list->items[i].find("name")) file.left_out.insert(name->text);
    list->items.erase(list->items.begin() + static_cast<ptrdiff_t>(i));
    as_written->items.erase(as_written->items.begin() + static_cast<ptrdiff_t>(i));
  }
}

// Puts something harmless in the place of an object with mistakes.
void replace_broken(const char* key, const char* harmless, JsonValue& typed, JobFile& file) {
  JsonValue* object = typed.find(key);
  if (object == nullptr || !object->broken) return;
  JsonValue other = parse_json(harmless, file.path);
  *object = *file.tree.find(key) = std::move(other);
}

// Fills in file.job; false where the tree does not fit the schema.
bool take_job(JobFile& file, const JsonValue& typed, fb::Parser& parser) {
  if (!parser.ParseJson(json_text(typed).c_str(), file.path.c_str())) return false;
  file.job.reset(fb::GetRoot<job::Job>(parser.builder_.GetBufferPointer())->UnPack());
  return true;
}

// Builds what of a job has no mistakes of keys and types, to tell what else is wrong with it.
void look_further(JobFile& file, JsonValue typed, fb::Parser& parser, Problems& problems) {
  if (typed.kind != JsonValue::Kind::object) return;
  for (const char* list : {"inputs", "layers", "evaluators", "outputs"})
    leave_out_broken(list, typed, file);
  replace_broken("cost", R"("?")", typed, file);
  replace_broken("optimizer", R"({"type": "sgd", "learning_rate": 1})", typed, file);
  replace_broken("data", R"({"format": "csv"})", typed, file);
  file.left_out.insert("?");
  for (const char* needed : {"inputs", "layers", "cost", "optimizer", "data"})
    if (typed.find(needed) == nullptr) return;
  if (take_job(file, typed, parser)) find_mistakes(file, problems);
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
  if (problems.any()) look_further(file, typed, parser, problems);
  problems.report();
  require(take_job(file, typed, parser), Error::Kind::config, path, ": ", parser.error_);
  return file;
}

JobFile read_job(const std::string& path, const std::string& config_args, Options& options) {
  return parse_job(path, read_file(path, max_job_bytes), config_args, options);
}

}  // namespace paddle
