// Saved models as protobuf's text. Our records hold enumerations as numbers; people read names.
#include <google/protobuf/text_format.h>

#include <memory>

#include "io/model_file.h"
#include "io/model_records.h"

namespace paddle {
namespace {

namespace pb = google::protobuf;
using namespace framework::proto;

class EnumName : public pb::TextFormat::FastFieldValuePrinter {
 public:
  explicit EnumName(const pb::EnumDescriptor* names) : names_(names) {}
  void PrintInt32(int32_t value, pb::TextFormat::BaseTextGenerator* out) const override {
    const pb::EnumValueDescriptor* known = names_->FindValueByNumber(value);
    out->PrintString(known ? known->name() : std::to_string(value));
  }

 private:
  const pb::EnumDescriptor* names_;
};

void name_numbers(pb::TextFormat::Printer& printer, const pb::Descriptor* record, const char* field,
                  const pb::EnumDescriptor* names) {
  auto name = std::make_unique<EnumName>(names);
  if (printer.RegisterFieldValuePrinter(record->FindFieldByName(field), name.get()))
    name.release();  // the printer owns it now
}

std::string printed(const pb::Message& record) {
  pb::TextFormat::Printer printer;
  name_numbers(printer, OpDesc::Attr::descriptor(), "type", AttrType_descriptor());
  name_numbers(printer, VarType::descriptor(), "type", VarType::Type_descriptor());
  name_numbers(printer, VarType::TensorDesc::descriptor(), "data_type", VarType::Type_descriptor());
  std::string out;
  printer.PrintToString(record, &out);
  return out;
}

}  // namespace

std::string record_text(const Program& program) { return printed(record_of(program)); }
std::string record_text(const Block& block) {
  return printed(record_of(block.program()).blocks(block.idx()));
}
std::string record_text(const Var& var) { return printed(record_of(var)); }
std::string record_text(const Op& op) { return printed(record_of(op)); }

}  // namespace paddle
