// A FlatBuffer in a file that shows when it was damaged: magic (8 bytes), size, CRC-32, content.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "flatbuffers/flatbuffers.h"

namespace paddle {

// CRC-32 as zlib has it.
uint32_t checksum(const void* data, size_t bytes, uint32_t so_far = 0);

// `magic` has 8 characters.
std::string seal(std::string_view magic, const flatbuffers::FlatBufferBuilder& content);

// The content, aligned for reading in place.
struct Unsealed {
  std::vector<uint64_t> words;
  size_t bytes = 0;
  const uint8_t* data() const { return reinterpret_cast<const uint8_t*>(words.data()); }
};
// Throws Error(data): the file `name` is cut short, was changed, or is none of `what`; `remedy`
// ends the sentence.
Unsealed unseal(std::string_view magic, std::string_view bytes, const std::string& name,
                const char* what, const char* remedy = "");

// A vector's numbers, copied as bytes: the verifier does not see to the alignment of elements.
template <class T>
std::vector<T> numbers(const flatbuffers::Vector<T>* v) {
  std::vector<T> out(v ? v->size() : 0);
  if (!out.empty()) std::memcpy(static_cast<void*>(out.data()), v->Data(), out.size() * sizeof(T));
  return out;
}

}  // namespace paddle
