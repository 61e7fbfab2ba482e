// The sparse tables of a process that trains alone. They are a part of the scope, as the tensors of
// other parameters are.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "exec/lower_tables.h"
#include "exec/table_stream.h"
#include "graph/kernel.h"
#include "graph/table_spec.h"
#include "table/table.h"

namespace paddle {

// The options of the table that a program describes.
TableOptions table_options(const TableSpec& spec);

class TableStore {
 public:
  struct Kept {
    TableSpec spec;
    std::unique_ptr<Table> table;
    uint64_t version = 0;  // updates so far
  };

  // A startup program gives a variable its first values: a table begins anew.
  void start(const Var& var, FirstRows first);
  // The table of a plan, made where there is none. It is the same object until generation()
  // changes. Throws Error(config) where no startup program ran and nothing was loaded, and where
  // its rows are those of another rule.
  Kept& use(const PlanTable& wanted);
  // What a plan says of a table, with the first values of startup programs and loaded tables.
  TableSpec completed(const PlanTable& wanted) const;
  const Kept* find(const std::string& param) const;
  Kept* find(const std::string& param);
  Names names() const;
  uint64_t generation() const { return generation_; }

  using Sink = TableWriter::Sink;
  void save(const std::string& param, const Sink& sink);
  // A table without rows, in the place of what is there under this name.
  void begin(const TableHead& head);
  // Takes the place of what is there under this name, once it is whole. Throws Error(data).
  void load(const std::string& param, TableReader& in);

 private:
  Kept make(TableSpec spec) const;
  void put(const TableHead& head, Kept table);

  std::map<std::string, FirstRows> firsts_;  // by variable
  std::map<std::string, Kept> tables_;
  uint64_t generation_ = 0;
};

// Tables as files of a directory (table_file_name()). A table that nothing has looked up yet has
// none.
void save_tables(TableStore& store, const Names& tables, const std::string& directory);
// One of these files, whole or not at all. Throws Error(io), and what `save` throws.
void write_table_file(const std::string& directory, const std::string& table,
                      const std::function<void(const TableWriter::Sink&)>& save);
// Throws Error(data or io); `missing` is told of tables without a file, and where it is empty this
// is an error too.
void load_tables(TableStore& store, const Names& tables, const std::string& directory,
                 const std::function<void(const std::string& table)>& missing = {});

// The files that load_tables() reads, by table.
std::map<std::string, std::string> find_table_files(
    const Names& tables, const std::string& directory,
    const std::function<void(const std::string& table)>& missing = {});

// What the rows of a plan are pulled from and pushed to: the tables of its scope. An update happens
// at once, with the number of updates before it as its step, as a shard does it.
class LocalTables : public Remote {
 public:
  // The store outlives it.
  LocalTables(TableStore& store, std::vector<PlanTable> tables);

  void push(int32_t param, const View& grad, uint64_t step) override;
  void pull(int32_t param, const View& value, uint64_t step) override;
  void pull_rows(int32_t table, std::span<const uint64_t> ids, float* rows, uint64_t step) override;
  void set_rate(int32_t table, float rate) override;
  void push_rows(int32_t table, std::span<const uint64_t> ids, const float* grads,
                 uint64_t step) override;

 private:
  TableStore::Kept& kept(int32_t table);

  TableStore& store_;
  std::vector<PlanTable> tables_;
  std::vector<TableStore::Kept*> kept_;
  std::vector<float> rates_;
  uint64_t generation_;
};

}  // namespace paddle
