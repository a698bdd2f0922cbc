// Weights as safetensors: the header's length, the header, and what it says of the data.
#include "fuzz/memory_file.h"
#include "fuzz/targets.h"
#include "storage/checkpoint/safetensors.h"

#include <cstdint>
#include <cstring>

namespace sluice::fuzz {
namespace {

/// A file whose header has its own length, where that is asked for; then all as it comes.
std::string with_length(std::string_view header, std::string_view data) {
  const std::uint64_t length = header.size();
  std::string text(sizeof length, '\0');
  std::memcpy(text.data(), &length, sizeof length);
  return text.append(header).append(data);
}

void safetensors_body(std::string_view bytes) {
  Input input(bytes);
  const bool repair = input.choose(2) == 1;
  const unsigned data_bytes = input.choose(32);
  const MemoryFile file(repair ? with_length(input.rest(), std::string(data_bytes, 'x'))
                               : std::string(input.rest()));
  MemoryLedger ledger(std::uint64_t{1} << 20, "budget");
  const auto read = read_safetensors(file.path(), &ledger);
  if (!read) return check_error(read.error());
  for (const CheckpointTensor& tensor : read.value().tensors)
    expect(tensor.value.bytes() <= bytes.size() + data_bytes, "no more is read than there is");
}

std::vector<std::string> safetensors_seeds() {
  const std::string one = R"({"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})";
  return {"18" + one,
          "17" + one,
          "1<{\"__metadata__\":{\"format\":\"pt\"},"
          "\"b\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]},"
          "\"c\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[8,12]}}",
          "10{\"d\":{\"dtype\":\"BF16\",\"shape\":[0,3],\"data_offsets\":[0,0]}}",
          "10{\"e\":{\"dtype\":\"F64\",\"shape\":[-1],\"data_offsets\":[8,0]}}",
          "10{\"__metadata__\":[1]}",
          "10[1]",
          "00" + with_length(one, "12345678"),
          "00\x01"};
}

}  // namespace

Target safetensors_target() {
  return {"safetensors",
          safetensors_body,
          safetensors_seeds,
          {"__metadata__", "dtype", "shape", "data_offsets", "F32"}};
}

}  // namespace sluice::fuzz
