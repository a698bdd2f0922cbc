// The checkpoint container: what comes back, and what every kind of damage is called.
#include "core/hash.h"
#include "storage/checkpoint/container.h"
#include "storage/io/atomic_file.h"
#include "support/expect_error.h"
#include "support/temp_dir.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <set>

using namespace sluice;
using sluice::test::expect_error;
using sluice::test::read_all;
using sluice::test::TempDir;
namespace fs = std::filesystem;

namespace {

template <class T>
CheckpointTensor tensor(std::string name, Array::Shape shape, std::vector<T> values) {
  CheckpointTensor made{std::move(name), Array::make(dtype_of<T>, std::move(shape)).or_throw()};
  std::copy(values.begin(), values.end(), made.value.as<T>().begin());
  return made;
}

CheckpointContent sample() {
  CheckpointContent content;
  content.state = R"({"epoch":3,"name":"x"})";
  content.tensors.push_back(tensor<float>("weight", {2, 3}, {1, 2, 3, 4, 5, 6}));
  content.tensors.push_back(tensor<std::int64_t>("steps", {}, {42}));
  content.tensors.push_back(tensor<float>("nothing", {0, 4}, {}));
  content.tensors.push_back(tensor<std::uint8_t>("bits", {3}, {7, 8, 9}));
  return content;
}

Error read_error(const fs::path& path) {
  return expect_error([&] { (void)read_checkpoint(path, nullptr).or_throw(); });
}

// A copy of `bytes` with the checksum of the first 64 bytes made right again.
std::string resealed(std::string bytes) {
  const std::uint64_t sum = xxh3_64(std::as_bytes(std::span(bytes)).first(56));
  std::memcpy(bytes.data() + 56, &sum, sizeof sum);
  return bytes;
}

}  // namespace

TEST_CASE("a checkpoint gives back its state and tensors, aligned") {
  const TempDir dir;
  const fs::path path = dir / "a.ckpt";
  const CheckpointContent content = sample();
  const std::uint64_t bytes = write_checkpoint(path, content);
  CHECK(bytes == fs::file_size(path));
  CHECK(bytes % 64 == 0);

  MemoryLedger ledger;
  const CheckpointContent back = read_checkpoint(path, &ledger).or_throw();
  CHECK(back.state == content.state);
  REQUIRE(back.tensors.size() == content.tensors.size());
  for (std::size_t i = 0; i < back.tensors.size(); ++i) {
    const Array& value = back.tensors[i].value;
    CHECK(back.tensors[i].name == content.tensors[i].name);
    CHECK(value.shape() == content.tensors[i].value.shape());
    CHECK(value.dtype() == content.tensors[i].value.dtype());
    CHECK(std::memcmp(value.data(), content.tensors[i].value.data(), value.bytes()) == 0);
  }
  CHECK(ledger.used() > 0);
  const std::string file = read_all(path);
  const float one = 1;
  const auto at =
      file.find(std::string(reinterpret_cast<const char*>(&one), 4) + std::string("\0\0\0\x40", 4));
  CHECK(at % 64 == 0);
}

TEST_CASE("a checkpoint replaces the one before and leaves nothing else") {
  const TempDir dir;
  const fs::path path = dir / "a.ckpt";
  write_checkpoint(path, sample());
  dir.write(".a.ckpt.partial", "what a killed run left");
  CheckpointContent next = sample();
  next.state = R"({"epoch":4})";
  write_checkpoint(path, next);
  CHECK(read_checkpoint(path, nullptr).or_throw().state == next.state);
  CHECK(std::distance(fs::directory_iterator(dir.path()), fs::directory_iterator()) == 1);
}

TEST_CASE("a file that is not committed never shows") {
  const TempDir dir;
  dir.write("x", "old");
  {
    AtomicFile file(dir / "x");
    file.append("new");
    CHECK(read_all(dir / "x") == "old");
  }
  CHECK(read_all(dir / "x") == "old");
  CHECK_FALSE(fs::exists(dir / ".x.partial"));
  write_text_file(dir / "x", "new");
  CHECK(read_all(dir / "x") == "new");
  const Error error = expect_error([&] { write_text_file(dir / "no/such/x", "new"); });
  CHECK(std::string(error.what()).find("cannot create: no such file") != std::string::npos);
}

TEST_CASE("every flipped bit is found") {
  const TempDir dir;
  const fs::path path = dir / "a.ckpt";
  write_checkpoint(path, sample());
  const std::string sound = read_all(path);
  std::set<std::string> messages;
  for (std::size_t bit = 0; bit < sound.size() * 8; ++bit) {
    std::string flipped = sound;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    dir.write("b.ckpt", flipped);
    const auto read = read_checkpoint(dir / "b.ckpt", nullptr);
    CAPTURE(bit);
    REQUIRE_FALSE(read.ok());
    REQUIRE(read.error().code() == ErrorCode::kData);
    messages.insert(read.error().message());
  }
  CHECK(messages == std::set<std::string>{
                        "not a checkpoint",
                        "the checkpoint is damaged: its first 64 bytes do not match their checksum",
                        "the checkpoint is damaged: its header does not match its checksum",
                        "the checkpoint is damaged: its tensors do not match their checksum"});
}

TEST_CASE("every truncation is found, and bytes too many") {
  const TempDir dir;
  const fs::path path = dir / "a.ckpt";
  write_checkpoint(path, sample());
  const std::string sound = read_all(path);
  for (std::size_t size = 0; size < sound.size(); ++size) {
    dir.write("b.ckpt", std::string_view(sound).substr(0, size));
    CAPTURE(size);
    const Error error = read_error(dir / "b.ckpt");
    CHECK(error.code() == ErrorCode::kData);
    CHECK(error.message().find(size < 8 ? "not a checkpoint" : "it is truncated") !=
          std::string::npos);
  }
  dir.write("b.ckpt", sound + "x");
  CHECK(read_error(dir / "b.ckpt").message() ==
        "the checkpoint is damaged: it has bytes after its end");
}

TEST_CASE("a newer version, another file and no file say what they are") {
  const TempDir dir;
  const fs::path path = dir / "a.ckpt";
  write_checkpoint(path, sample());
  std::string newer = read_all(path);
  newer[8] = 9;
  dir.write("b.ckpt", resealed(newer));
  const Error error = read_error(dir / "b.ckpt");
  CHECK(error.message() == "the checkpoint is of version 9; this program reads up to 1");
  CHECK(error.hint() == "use a newer sluice-train");
  CHECK(std::string(error.what()).find((dir / "b.ckpt").string()) == 0);
  dir.write("c.ckpt",
            "PK\x03\x04 something else that is long enough to hold a whole first block of bytes");
  CHECK(read_error(dir / "c.ckpt").message() == "not a checkpoint");
  CHECK(read_error(dir / "d.ckpt").message().find("no such file") != std::string::npos);
}

TEST_CASE("a checkpoint larger than the ledger is refused") {
  const TempDir dir;
  CheckpointContent content = sample();
  content.tensors.push_back({"large", Array::make(DType::kF32, {1000, 1000}).or_throw()});
  std::memset(content.tensors.back().value.data(), 0, content.tensors.back().value.bytes());
  write_checkpoint(dir / "a.ckpt", content);
  MemoryLedger ledger(1 << 20, "[memory] host");
  const auto read = read_checkpoint(dir / "a.ckpt", &ledger);
  REQUIRE_FALSE(read.ok());
  CHECK(read.error().code() == ErrorCode::kResource);
  CHECK(ledger.used() == 0);
}

TEST_CASE("the state is read without tensors, and checked") {
  const TempDir dir;
  write_checkpoint(dir / "a.ckpt", sample());
  const auto whole = read_checkpoint(dir / "a.ckpt", nullptr);
  REQUIRE(whole.ok());
  const auto state = read_checkpoint_state(dir / "a.ckpt");
  REQUIRE(state.ok());
  CHECK(state.value() == whole.value().state);
  std::string bytes = read_all(dir / "a.ckpt");
  bytes[64] = static_cast<char>(bytes[64] ^ 1);  // the header's first byte
  dir.write("b.ckpt", bytes);
  const auto damaged = read_checkpoint_state(dir / "b.ckpt");
  REQUIRE_FALSE(damaged.ok());
  CHECK(damaged.error().code() == ErrorCode::kData);
}
