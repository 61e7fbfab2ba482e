#include "io/inference_model.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/suggest.h"
#include "graph/find_tables.h"
#include "io/model_file.h"
#include "io/portable.h"

namespace paddle {
namespace {

Attrs plain_attrs(std::initializer_list<Attrs::Entry> own) {
  Attrs attrs(own);
  attrs.set(role::attr, role::forward);
  attrs.set(role::var_attr, Strings{});
  attrs.set(role::scope_attr, std::string("/"));
  return attrs;
}

bool is_list_op(const Op& op) { return op.type == "feed" || op.type == "fetch"; }

// What a program is before it is an inference model: no marks, no feed or fetch ops.
Program stripped(const Program& main) {
  Program p = main.clone(true);
  for (size_t b = 0; b < p.num_blocks(); ++b)
    for (const auto& op : p.block(static_cast<int32_t>(b)).ops()) op->is_target = false;
  Block& global = p.global();
  for (size_t i = global.ops().size(); i-- > 0;)
    if (is_list_op(*global.ops()[i])) global.remove_op(i);
  for (const char* list : {"feed", "fetch"}) {
    const Var* v = global.find_local(list);
    if (v && (v->kind == VarKind::feed_minibatch || v->kind == VarKind::fetch_list))
      global.remove_var(list);
  }
  return p;
}

Names add_scales(Block& block, const Names& targets) {
  Names out;
  for (size_t i = 0; i < targets.size(); ++i) {
    Var v = block.var(targets[i]);
    int n = 0;
    do {  // a model that was loaded and is saved again has such names already
      v.name = text("save_infer_model/scale_", i, ".tmp_", n++);
    } while (block.find(v.name) != nullptr);
    v.persistable = v.stop_gradient = v.need_check_feed = false;
    v.param.reset();
    v.foreign.clear();
    out.push_back(v.name);
    Op op{"scale", {{"X", {targets[i]}}}, {{"Out", {v.name}}}};
    op.attrs = plain_attrs({{"scale", 1.f}, {"bias", 0.f}, {"bias_after_scale", true}});
    block.create(std::move(v));
    block.adopt(std::move(op));
  }
  return out;
}

// Everything an op reads must be given: by a feed, a persistable variable or an op before it.
void check_inputs(const Block& block, const Names& feeds) {
  std::set<std::string> known(feeds.begin(), feeds.end()), missing;
  for (const auto& op : block.ops()) {
    for (const std::string& name : op->in.all()) {
      const Var* v = block.find_local(name);
      if (known.count(name) == 0 && name != empty_name && !(v && v->persistable))
        missing.insert(name);
    }
    for (const std::string& name : op->out.all()) known.insert(name);
  }
  require(missing.empty(), Error::Kind::config, "the targets need ",
          listed(Names(missing.begin(), missing.end())),
          ", which is neither fed nor computed; add it to the feeds");
}

void check_feeds(const Program& main, const Block& pruned, const Names& feeds) {
  for (const std::string& name : feeds) {
    main.global().var(name);  // a suggestion for a wrong name
    require(pruned.find_local(name) != nullptr, Error::Kind::config, "the feed '", name,
            "' is not needed to compute the targets; leave it out");
  }
}

// The ops of one kind in order of their column, which must be 0, 1, …
Names columns(const Block& block, const std::string& type) {
  std::vector<const Op*> ops;
  for (const auto& op : block.ops())
    if (op->type == type) ops.push_back(op.get());
  Names out(ops.size());
  for (const Op* op : ops) {
    const auto col = op->attrs.get<int32_t>("col", -1);
    const Names& names = type == "feed" ? op->out["Out"] : op->in["X"];
    require(
        col >= 0 && static_cast<size_t>(col) < out.size() && out[static_cast<size_t>(col)].empty(),
        Error::Kind::data, "the model has ", ops.size(), " ", type,
        " ops, but one of them says column ", col);
    require(names.size() == 1 && !names[0].empty() && block.find_local(names[0]) != nullptr,
            Error::Kind::data, "the ", type, " op of column ", col,
            " must name one variable of the program");
    out[static_cast<size_t>(col)] = names[0];
  }
  return out;
}

}  // namespace

InferenceModel make_inference_model(const Program& main, const Names& feeds, const Names& targets) {
  require(!targets.empty(), Error::Kind::config, "an inference model needs at least one target");
  Program whole = stripped(main);
  const Names fetches = add_scales(whole.global(), targets);
  InferenceModel out{whole.pruned(fetches), feeds, fetches};
  Block& block = out.program.global();
  check_feeds(main, block, feeds);
  check_inputs(block, feeds);

  block.create({.name = "feed", .kind = VarKind::feed_minibatch, .persistable = true});
  block.create({.name = "fetch", .kind = VarKind::fetch_list, .persistable = true});
  // The ops in front are put there one by one, each before the last: so the last feed comes first.
  // The block has no way to insert unchecked, so what it holds is taken out and adopted again.
  std::vector<Op> ops;
  for (size_t i = feeds.size(); i-- > 0;) {
    ops.push_back({"feed", {{"X", {"feed"}}}, {{"Out", {feeds[i]}}}});
    ops.back().attrs = plain_attrs({{"col", static_cast<int32_t>(i)}});
  }
  for (const auto& op : block.ops()) ops.push_back(*op);
  for (size_t i = 0; i < fetches.size(); ++i) {
    ops.push_back({"fetch", {{"X", {fetches[i]}}}, {{"Out", {"fetch"}}}});
    ops.back().attrs = plain_attrs({{"col", static_cast<int32_t>(i)}});
  }
  while (!block.ops().empty()) block.remove_op(block.ops().size() - 1);
  for (Op& op : ops) block.adopt(std::move(op));
  out.program = portable(out.program);
  return out;
}

Names save_inference_model(const std::string& directory, const Names& feeds, const Names& targets,
                           const Program& main, const ValueSource& values,
                           const InferenceFiles& files) {
  const InferenceModel model = make_inference_model(main, feeds, targets);
  check_file_name(files.model);
  const VarList vars = persistables_of(model.program);
  for (const Var* v : vars)
    require(files.params.empty() ? v->name != files.model : files.params != files.model,
            Error::Kind::config, "'", files.model,
            "' would be both the program's file and a parameter's; choose another name");
  save_vars(directory, vars, values, files.params);
  make_directories(directory);
  save_program((std::filesystem::path(directory) / files.model).string(), model.program);
  return model.fetches;
}

InferenceModel load_inference_model(const std::string& directory, const ValueSink& sink,
                                    const InferenceFiles& files) {
  require(is_directory(directory), Error::Kind::io, "cannot load the model '", directory,
          "': there is no such directory; check the path");
  check_file_name(files.model);
  InferenceModel out;
  out.program = load_program((std::filesystem::path(directory) / files.model).string());
  try {
    out.feeds = columns(out.program.global(), "feed");
    out.fetches = columns(out.program.global(), "fetch");
  } catch (Error& e) {
    throw e.within("loading the model '", directory, "'");
  }
  mark_tables(out.program, [&](const std::string& table) {
    const std::filesystem::path in(directory);
    return is_file((in / table_file_name(table)).string()) ||
           is_file((in / fluid_tables_name / (table + "_0")).string());
  });
  load_vars(directory, persistables_of(out.program), sink, files.params);
  return out;
}

}  // namespace paddle
