// Safetensors: what is written as the format has it, what comes back, and what is refused.
#include "storage/checkpoint/safetensors.h"
#include "support/expect_error.h"
#include "support/temp_dir.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace sluice;
using sluice::test::expect_error;
using sluice::test::read_all;
using sluice::test::TempDir;
namespace fs = std::filesystem;

namespace {

template <class T>
CheckpointTensor safe_tensor(std::string name, Array::Shape shape, std::vector<T> values) {
  CheckpointTensor made{std::move(name), Array::make(dtype_of<T>, std::move(shape)).or_throw()};
  std::copy(values.begin(), values.end(), made.value.as<T>().begin());
  return made;
}

SafetensorsContent safe_sample() {
  SafetensorsContent content;
  content.metadata = {{"format", "pt"}, {"classes", R"(["round","square"])"}};
  content.tensors.push_back(safe_tensor<std::uint8_t>("bits", {3}, {7, 8, 9}));
  content.tensors.push_back(safe_tensor<float>("layer0.weight", {2, 3}, {1, 2, 3, 4, 5, 6}));
  content.tensors.push_back(safe_tensor<float>("none", {0, 4}, {}));
  content.tensors.push_back(safe_tensor<std::int64_t>("steps", {}, {42}));
  return content;
}

// A file of this header and so many bytes of data.
fs::path made_of(const fs::path& path, const std::string& header, std::size_t data) {
  const std::uint64_t length = header.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&length), sizeof length);
  file << header << std::string(data, 'x');
  return path;
}

std::string refused(const fs::path& path) {
  const Error error = expect_error([&] { (void)read_safetensors(path, nullptr).or_throw(); });
  CHECK(error.code() == ErrorCode::kData);
  CHECK(error.place().file == path.string());
  return error.message();
}

}  // namespace

TEST_CASE("safetensors: header and data lie as other readers want them") {
  const TempDir dir;
  const std::uint64_t written = write_safetensors(dir / "a.safetensors", safe_sample());
  CHECK(written == fs::file_size(dir / "a.safetensors"));
  const std::string text = read_all(dir / "a.safetensors");
  std::uint64_t length = 0;
  std::memcpy(&length, text.data(), sizeof length);
  CHECK(length % 8 == 0);
  const auto header = nlohmann::json::parse(text.substr(8, length));
  CHECK(header.at("__metadata__").at("format") == "pt");
  const auto& weight = header.at("layer0.weight");
  CHECK(weight.at("dtype") == "F32");
  CHECK(weight.at("shape") == std::vector<int>{2, 3});
  const auto offsets = weight.at("data_offsets").get<std::vector<std::uint64_t>>();
  CHECK(offsets == std::vector<std::uint64_t>{8, 32});  // after the i64
  float third = 0;
  std::memcpy(&third, text.data() + 8 + length + offsets[0] + 8, sizeof third);
  CHECK(third == 3);
  CHECK(header.at("steps").at("shape").empty());
  CHECK(text.size() == 8 + length + 8 + 24 + 3);
}

TEST_CASE("safetensors: what was written comes back, charged") {
  const TempDir dir;
  write_safetensors(dir / "a.safetensors", safe_sample());
  MemoryLedger ledger(1 << 20, "budget");
  const SafetensorsContent back = read_safetensors(dir / "a.safetensors", &ledger).or_throw();
  CHECK(back.metadata == safe_sample().metadata);
  REQUIRE(back.tensors.size() == 4);
  for (const CheckpointTensor& wanted : safe_sample().tensors) {
    const auto found = std::ranges::find(back.tensors, wanted.name, &CheckpointTensor::name);
    REQUIRE(found != back.tensors.end());
    CHECK(found->value.dtype() == wanted.value.dtype());
    CHECK(found->value.shape() == wanted.value.shape());
    CHECK(std::ranges::equal(found->value.raw(), wanted.value.raw()));
  }
  CHECK(ledger.peak() > 0);
}

TEST_CASE("safetensors: names that the format has for itself are refused") {
  const TempDir dir;
  SafetensorsContent content;
  content.tensors.push_back(safe_tensor<float>("__metadata__", {1}, {1}));
  const Error error = expect_error([&] { write_safetensors(dir / "a.safetensors", content); });
  CHECK(error.code() == ErrorCode::kUsage);
  CHECK_FALSE(fs::exists(dir / "a.safetensors"));
}

TEST_CASE("safetensors: what is no such file, or not whole, is refused by name") {
  const TempDir dir;
  write_safetensors(dir / "a.safetensors", safe_sample());
  const std::string whole = read_all(dir / "a.safetensors");
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{7}, std::size_t{40}, whole.size() - 1}) {
    std::ofstream(dir / "cut.safetensors", std::ios::binary) << whole.substr(0, length);
    refused(dir / "cut.safetensors");
  }
  const auto of = [&](const char* header, std::size_t data) {
    return refused(made_of(dir / "b.safetensors", header, data));
  };
  CHECK(of("no json", 0).find("no safetensors file") != std::string::npos);
  CHECK(of("[]", 4).find("bytes of data") != std::string::npos);
  CHECK(of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})", 8).find("takes 4 bytes") !=
        std::string::npos);
  CHECK(of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8).find("begins at") !=
        std::string::npos);
  CHECK(
      of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 8).find("8 bytes of data") !=
      std::string::npos);
  CHECK(of(R"({"a":{"dtype":"C64","shape":[1],"data_offsets":[0,8]}})", 8).find("'C64'") !=
        std::string::npos);
  CHECK(of(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4).find("shape") !=
        std::string::npos);
  CHECK(of(R"({"a":{"dtype":"F32","shape":[9223372036854775807,9],"data_offsets":[0,4]}})", 4)
            .find("shape") != std::string::npos);
  CHECK(of(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4).find("shape") != std::string::npos);
}

TEST_CASE("safetensors: what a file says of itself is read without its tensors") {
  const TempDir dir;
  write_safetensors(dir / "a.safetensors", safe_sample());
  const File said = File::open_read(dir / "a.safetensors").or_throw();
  CHECK(safetensors_metadata(said).or_throw() == safe_sample().metadata);
  const File silent = File::open_read(made_of(dir / "b.safetensors", "{}", 0)).or_throw();
  CHECK(safetensors_metadata(silent).or_throw().empty());
}
