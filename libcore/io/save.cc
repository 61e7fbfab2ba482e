#include "io/save.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "io/tensor_file.h"

namespace paddle {
namespace {

// Byte-wise by name, as the combined file wants it; a name that several blocks have, once.
VarList sorted(VarList vars) {
  const auto by_name = [](const Var* a, const Var* b) { return a->name < b->name; };
  std::sort(vars.begin(), vars.end(), by_name);
  const auto same = [](const Var* a, const Var* b) { return a->name == b->name; };
  vars.erase(std::unique(vars.begin(), vars.end(), same), vars.end());
  return vars;
}

template <class Wanted>
VarList list_vars(const Program& program, const Wanted& wanted) {
  VarList out;
  for (size_t i = 0; i < program.num_blocks(); ++i)
    for (const auto& v : program.block(static_cast<int32_t>(i)).vars())
      if (wanted(*v)) out.push_back(v.get());
  return sorted(std::move(out));
}

// One sentence for all that is wrong.
void report(const std::vector<std::string>& problems, Error::Kind kind, const std::string& what) {
  constexpr size_t shown = 20;
  if (problems.empty()) return;
  std::string list;
  for (size_t i = 0; i < std::min(shown, problems.size()); ++i) list += "\n  " + problems[i];
  if (problems.size() > shown) list += text("\n  and ", problems.size() - shown, " more");
  throw Error(kind, what, ":", list);
}

void write_vars(const std::string& where, const VarList& given, const ValueSource& values,
                const std::string& filename, const OnFile& put) {
  const VarList vars = sorted(given);
  std::vector<std::string> problems;
  if (!filename.empty()) check_file_name(filename);
  for (const Var* v : vars) {
    const ValueRef value = values(v->name);
    if (value.tensor == nullptr && value.rows == nullptr)
      problems.push_back("'" + v->name + "' has no value: run the startup program first");
    try {
      if (filename.empty()) check_file_name(v->name);
    } catch (const Error& e) {
      problems.push_back(e.what());
    }
  }
  report(problems, Error::Kind::config,
         text("cannot save ", vars.size(), " variables to '", where, "'"));
  FileParts all;
  for (const Var* v : vars) {
    const ValueRef value = values(v->name);
    FileParts one;
    FileParts& parts = filename.empty() ? one : all;
    if (value.rows != nullptr)
      add_selected_rows(parts, *value.rows);
    else
      add_tensor(parts, *value.tensor);
    if (filename.empty()) put(v->name, one);
  }
  // As PaddlePaddle: it refuses to load a file of no variables.
  if (!filename.empty() && !vars.empty()) put(filename, all);
}

LoadedValue read_value(BinaryReader& in, const Var& v) {
  if (v.kind == VarKind::selected_rows) return {{}, read_selected_rows(in)};
  return {read_tensor(in), {}};
}

// What the file holds against what the program wants; "" where they agree.
std::string mismatch(const LoadedValue& value, const Var& v) {
  const Tensor& t = value.rows ? value.rows->value : value.tensor;
  if (t.dtype() != v.dtype)
    return text("'", v.name, "': the program wants ", name_of(v.dtype), ", the file holds ",
                name_of(t.dtype()));
  Shape shape = t.shape();
  if (value.rows && shape.rank() > 0) shape[0] = value.rows->height;
  if (v.shape.rank() > 0 && !v.shape.compatible(shape))
    return text("'", v.name, "': the program wants shape ", v.shape, ", the file holds ", shape);
  return "";
}

}  // namespace

ValueSource values_of(const Scope& scope) {
  return [&scope](const std::string& name) -> ValueRef {
    const Variable* v = scope.find(name);
    if (v == nullptr) return {};
    if (v->rows) return {nullptr, v->rows.get()};
    return {v->tensor.empty() ? nullptr : &v->tensor, nullptr};
  };
}

ValueSink into(Scope& scope) {
  return [&scope](const std::string& name, LoadedValue value) {
    Variable& v = scope.var(name);
    v.rows = value.rows ? std::make_unique<SelectedRows>(std::move(*value.rows)) : nullptr;
    v.tensor = std::move(value.tensor);
  };
}

bool can_be_saved(const Var& var) {
  if (!var.table.empty()) return false;  // its table is
  return var.kind == VarKind::lod_tensor || var.kind == VarKind::selected_rows;
}

VarList params_of(const Program& program) {
  return list_vars(program, [](const Var& v) { return v.param.has_value() && v.table.empty(); });
}

VarList persistables_of(const Program& program) {
  return list_vars(program, [](const Var& v) { return v.persistable && can_be_saved(v); });
}

void check_file_name(const std::string& name) {
  const auto refuse = [&](const char* why) {
    throw Error(Error::Kind::config, "'", name, "' cannot be the name of a file: ", why);
  };
  if (name.empty()) refuse("it is empty");
  if (name.find('\0') != std::string::npos) refuse("it holds a zero byte");
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    if (part.empty()) refuse("it is absolute or has an empty part between slashes");
    if (part == "." || part == "..") refuse("it would leave the directory");
    begin = end + 1;
  }
}

void save_vars(const std::string& directory, const VarList& vars, const ValueSource& values,
               const std::string& filename) {
  write_vars(directory, vars, values, filename, [&](const std::string& name, const FileParts& p) {
    const std::filesystem::path path = std::filesystem::path(directory) / name;
    make_directories(path.parent_path().string());
    write_file_atomically(path.string(), p.views());
  });
}

void save_vars(AtomicDirectory& directory, const VarList& vars, const ValueSource& values,
               const std::string& filename, const OnFile& on_file) {
  write_vars(directory.path(), vars, values, filename,
             [&](const std::string& name, const FileParts& p) {
               directory.write(name, p.views());
               if (on_file) on_file(name, p);
             });
}

void load_vars(const std::string& directory, const VarList& given, const ValueSink& sink,
               const std::string& filename) {
  require(is_directory(directory), Error::Kind::io, "cannot load from '", directory,
          "': there is no such directory; check the path, or save a model there first");
  const VarList vars = sorted(given);
  if (vars.empty() && !filename.empty() &&
      !is_file((std::filesystem::path(directory) / filename).string()))
    return;
  std::vector<std::string> problems;
  std::vector<LoadedValue> loaded;
  const auto take = [&](BinaryReader& in, const Var& v) {
    loaded.push_back(read_value(in, v));
    if (std::string wrong = mismatch(loaded.back(), v); !wrong.empty())
      problems.push_back(std::move(wrong));
  };
  const auto attempt = [&](const std::string& name, const auto& body) {
    try {
      check_file_name(name);
      BinaryReader in((std::filesystem::path(directory) / name).string());
      body(in);
    } catch (const Error& e) {
      problems.push_back(e.what());
    }
  };
  if (filename.empty()) {
    for (const Var* v : vars)
      attempt(v->name, [&](BinaryReader& in) {
        take(in, *v);
        in.expect_end("the variable '" + v->name + "'");
      });
  } else {
    attempt(filename, [&](BinaryReader& in) {
      for (const Var* v : vars) {
        if (in.left() == 0)
          in.fail(in.offset(), "expected the variable '", v->name, "' (", loaded.size() + 1, " of ",
                  vars.size(), "), found the end; it was saved for another set of variables");
        take(in, *v);
      }
      in.expect_end(text("the last of ", vars.size(), " variables"));
    });
  }
  report(problems, Error::Kind::data,
         text("cannot load ", vars.size(), " variables from '", directory, "'"));
  for (size_t i = 0; i < vars.size(); ++i) sink(vars[i]->name, std::move(loaded[i]));
}

}  // namespace paddle
