#include "trainer/step_traffic.h"

#include "base/error.h"
#include "wire/frame.h"
#include "wire/messages.h"

namespace paddle {
namespace {

uint64_t frame_bytes(wire::Bytes head, uint64_t bulk) {
  return wire::header_bytes + (head.size() + 7) / 8 * 8 + bulk;
}

}  // namespace

std::vector<StepTraffic> step_traffic(const SliceLayout& layout) {
  std::vector<StepTraffic> out(layout.shards);
  wire::MessageWriter writer;
  for (const SliceLayout::Group& group : layout.groups) {
    StepTraffic& t = out[group.shard];
    // As they are sent: without an id, and fields that are 0 take no bytes (any step but the
    // first).
    const std::vector<wire::PushPart> pushed(group.slices.size());
    const std::vector<wire::ValuesPart> pulled(group.slices.size());
    ++t.messages;
    t.bytes_pushed += frame_bytes(
        writer.write(0, wire::Push{.step = 1, .pull = true, .parts = pushed}), group.bytes);
    t.bytes_pulled += frame_bytes(writer.write(0, wire::Values{.parts = pulled}), group.bytes);
  }
  return out;
}

std::string traffic_line(const std::vector<StepTraffic>& shards) {
  StepTraffic all;
  for (const StepTraffic& t : shards) {
    all.messages += t.messages;
    all.bytes_pushed += t.bytes_pushed;
    all.bytes_pulled += t.bytes_pulled;
  }
  return text("per step and trainer: ", all.messages, " messages each way, ", all.bytes_pushed,
              " bytes pushed, ", all.bytes_pulled, " bytes pulled\n");
}

}  // namespace paddle
