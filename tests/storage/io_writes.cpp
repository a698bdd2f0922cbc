// Writing over pages: the contract of every engine, and BlockWriter's promises under faults.
#include "io_support.h"
#include "storage/io/block_reader.h"
#include "support/temp_dir.h"

#include <cerrno>
#include <cstring>

namespace sluice::test {
namespace {

constexpr std::size_t kWritePages = 64;
constexpr std::size_t kWriteBytes = kWritePages * kPageBytes;

// A file of known bytes that is open for writing, attached to a reader with a buffer of other
// bytes.
struct Written {
  std::unique_ptr<BlockReader> reader;
  std::shared_ptr<AlignedBuffer> buffer = make_buffer(2 * kWriteBytes);  // new bytes, then room
  std::filesystem::path path;

  Written(std::unique_ptr<IoEngine> engine,
          const KnownFile& file,
          Direct direct,
          BlockReaderOptions options = {})
      : reader(std::make_unique<BlockReader>(std::move(engine), options)), path(file.path) {
    File restored = File::open_update(file.path).or_throw();
    restored.write_at(0, file.bytes).or_throw();
    reader->attach(std::make_shared<File>(File::open_update(file.path, direct).or_throw()))
        .or_throw();
    reader->attach(buffer).or_throw();
    const RandomKey key(77);
    for (std::size_t i = 0; i < kWriteBytes; ++i)
      buffer->data()[i] = static_cast<std::byte>(key.draw(i / 8) >> (i % 8 * 8));
  }

  static BlockWrite pages(std::uint64_t first, std::uint32_t count) {
    return {FileSlot{0},
            BufferSlot{0},
            static_cast<std::uint32_t>(count * kPageBytes),
            first * kPageBytes,
            first * kPageBytes};
  }
  const std::byte* fresh(std::uint64_t page) const { return buffer->data() + page * kPageBytes; }
};

bool page_is(const std::vector<std::byte>& file, std::uint64_t page, const std::byte* bytes) {
  return std::memcmp(file.data() + page * kPageBytes, bytes, kPageBytes) == 0;
}

std::vector<std::byte> bytes_at(const std::filesystem::path& path) {
  const File file = File::open_read(path).or_throw();
  std::vector<std::byte> bytes(file.size().or_throw());
  file.read_at(0, bytes).or_throw();
  return bytes;
}

void on_every_writer(const std::function<void(const KnownFile&, Written&)>& test) {
  const TempDir dir;
  const KnownFile file(dir / "f", kWriteBytes);
  for (const Direct direct : {Direct::kAuto, Direct::kOff}) {
    for (const EngineFactory& factory : engine_factories()) {
      INFO(factory.name, std::string(direct == Direct::kOff ? ", buffered" : ", direct"));
      Written written(factory.make(), file, direct);
      test(file, written);
    }
  }
}

}  // namespace

TEST_CASE("engines write the pages asked for, and reads through them see what was written") {
  on_every_writer([](const KnownFile& file, Written& written) {
    BlockWriter writer(*written.reader);
    std::vector<BlockWrite> writes;
    for (std::uint64_t page = 0; page < kWritePages; page += 4)
      writes.push_back(Written::pages(page, page % 8 == 0 ? 3 : 1));
    REQUIRE(writer.write(writes).ok());
    CHECK(writer.stats().requests == writes.size());
    CHECK(writer.stats().bytes == kWritePages / 2 * kPageBytes);  // 3 and 1 of each 8
    const std::vector<BlockRead> all{{FileSlot{0}, BufferSlot{0}, kWriteBytes, 0, kWriteBytes}};
    REQUIRE(written.reader->read(all).ok());
    const auto on_disk = bytes_at(file.path);
    for (std::uint64_t page = 0; page < kWritePages; ++page) {
      CAPTURE(page);
      const bool is_new = page % 8 < 3 || page % 8 == 4;
      const std::byte* expected =
          is_new ? written.fresh(page) : file.bytes.data() + page * kPageBytes;
      CHECK(page_is(on_disk, page, expected));
      CHECK(std::memcmp(written.buffer->data() + kWriteBytes + page * kPageBytes,
                        expected,
                        kPageBytes) == 0);
    }
  });
}

TEST_CASE("reads and writes of one call: each page is what it was, or what was written") {
  on_every_writer([](const KnownFile& file, Written& written) {
    BlockWriter writer(*written.reader);
    const std::uint64_t read_before = written.reader->stats().bytes;
    std::vector<BlockRead> reads;
    std::vector<BlockWrite> writes;
    for (std::uint64_t page = 0; page < kWritePages; page += 4) {
      if (page % 8 == 0) {
        writes.push_back(Written::pages(page, 4));
        continue;
      }
      reads.push_back(Written::pages(page, 4));
      reads.back().buffer_offset += kWriteBytes;
    }
    REQUIRE(writer.exchange(reads, writes).ok());
    CHECK(writer.stats().bytes == kWriteBytes / 2);
    CHECK(writer.stats().requests == writes.size());
    CHECK(written.reader->stats().bytes - read_before == kWriteBytes / 2);
    const auto on_disk = bytes_at(file.path);
    for (std::uint64_t page = 0; page < kWritePages; ++page) {
      CAPTURE(page);
      const std::byte* old = file.bytes.data() + page * kPageBytes;
      CHECK(page_is(on_disk, page, page % 8 < 4 ? written.fresh(page) : old));
      if (page % 8 < 4) continue;
      CHECK(std::memcmp(
                written.buffer->data() + kWriteBytes + page * kPageBytes, old, kPageBytes) == 0);
    }
    reads.push_back(Written::pages(kWritePages, 1));
    CHECK(writer.exchange(reads, writes).error().code() == ErrorCode::kInternal);
  });
}

TEST_CASE("a write past the end of its file is refused before anything is written") {
  on_every_writer([](const KnownFile& file, Written& written) {
    BlockWriter writer(*written.reader);
    const std::vector<BlockWrite> writes{Written::pages(0, 1), Written::pages(kWritePages, 1)};
    const auto result = writer.write(writes);
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().code() == ErrorCode::kInternal);
    CHECK(bytes_at(file.path) == file.bytes);
    CHECK(writer.write(std::span(writes).first(1)).ok());
  });
}

TEST_CASE("short, interrupted and late writes are continued until all is there") {
  const TempDir dir;
  const KnownFile file(dir / "f", kWriteBytes);
  FaultPlan plan;
  plan.short_write = 0.4;
  plan.eintr = plan.eagain = plan.eio = 0.05;
  plan.refuse = 0.2;
  plan.delay = 0.3;
  BlockReaderOptions options;
  options.max_retries = 20;
  for (const EngineFactory& factory : plain_factories()) {
    INFO(factory.name);
    for (plan.seed = 1; plan.seed <= 20; ++plan.seed) {
      CAPTURE(plan.seed);
      Written written(make_fault_engine(factory.make(), plan), file, Direct::kAuto, options);
      BlockWriter writer(*written.reader);
      std::vector<BlockWrite> writes;
      for (std::uint64_t page = 0; page < kWritePages; page += 8)
        writes.push_back(Written::pages(page, 8));
      REQUIRE(writer.write(writes).ok());
      CHECK(writer.stats().short_reads + writer.stats().retries > 0);
      const auto on_disk = bytes_at(file.path);
      for (std::uint64_t page = 0; page < kWritePages; ++page)
        CHECK(page_is(on_disk, page, written.fresh(page)));
    }
  }
}

TEST_CASE("a write that fails for good names file, place and what to do; a torn one left a part") {
  const TempDir dir;
  const KnownFile file(dir / "f", kWriteBytes);
  struct Case {
    WriteFault fault;
    ErrorCode code;
    std::uint64_t written;  // pages of the failing write
  };
  for (const Case& which : {Case{WriteFault::kEio, ErrorCode::kIo, 0},
                            Case{WriteFault::kEnospc, ErrorCode::kResource, 0},
                            Case{WriteFault::kTorn, ErrorCode::kIo, 4},
                            Case{WriteFault::kKill, ErrorCode::kIo, 4}}) {
    for (const EngineFactory& factory : plain_factories()) {
      INFO(factory.name);
      CAPTURE(static_cast<int>(which.fault));
      FaultPlan plan;
      plan.write_fault = which.fault;
      plan.from_write = 3;
      Written written(make_fault_engine(factory.make(), plan), file, Direct::kAuto);
      BlockWriter writer(*written.reader);
      for (std::uint64_t i = 0; i < 3; ++i) {
        const BlockWrite one = Written::pages(8 * i, 8);
        REQUIRE(writer.write({&one, 1}).ok());
      }
      const BlockWrite last = Written::pages(24, 8);
      const auto result = writer.write({&last, 1});
      REQUIRE_FALSE(result.ok());
      CHECK(result.error().code() == which.code);
      CHECK(result.error().place().file == file.path.string());
      CHECK(result.error().place().offset == 24 * kPageBytes);
      CHECK(result.error().message().find("cannot write") != std::string::npos);
      CHECK_FALSE(result.error().hint().empty());
      const auto on_disk = bytes_at(file.path);
      for (std::uint64_t page = 0; page < kWritePages; ++page) {
        CAPTURE(page);
        const bool is_new = page < 24 + which.written;
        CHECK(page_is(
            on_disk, page, is_new ? written.fresh(page) : file.bytes.data() + page * kPageBytes));
      }
      const BlockRead back = Written::pages(0, 1);
      CHECK(written.reader->read({&back, 1}).ok() == (which.fault != WriteFault::kKill));
    }
  }
}

TEST_CASE("a write that a disk never answers ends in an error, and reader and writer are broken") {
  const TempDir dir;
  const KnownFile file(dir / "f", kWriteBytes);
  FaultPlan plan;
  plan.write_fault = WriteFault::kStall;
  BlockReaderOptions options;
  options.timeout = std::chrono::milliseconds(100);
  for (const EngineFactory& factory : plain_factories()) {
    INFO(factory.name);
    Written written(make_fault_engine(factory.make(), plan), file, Direct::kAuto, options);
    BlockWriter writer(*written.reader);
    const BlockWrite one = Written::pages(0, 8);
    const auto result = writer.write({&one, 1});
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().message().find("no write has completed") != std::string::npos);
    CHECK_FALSE(writer.write({&one, 1}).ok());
    CHECK_FALSE(written.reader->read({&one, 1}).ok());
  }
}

TEST_CASE("a file that is resized takes no room, and room that is punched out reads as zeros") {
  const TempDir dir;
  File file = File::open_update(dir / "f").or_throw();
  file.resize(16 * kPageBytes).or_throw();
  CHECK(file.size().or_throw() == 16 * kPageBytes);
  const std::vector<std::byte> page(kPageBytes, std::byte{7});
  for (const std::uint64_t at : {2u, 3u, 4u}) file.write_at(at * kPageBytes, page).or_throw();
  file.punch(3 * kPageBytes, kPageBytes).or_throw();
  CHECK(file.size().or_throw() == 16 * kPageBytes);
  const auto bytes = bytes_at(dir / "f");
  CHECK(page_is(bytes, 2, page.data()));
  CHECK(page_is(bytes, 4, page.data()));
  const std::vector<std::byte> zeros(kPageBytes);
  CHECK((page_is(bytes, 3, zeros.data()) || page_is(bytes, 3, page.data())));
  CHECK(page_is(bytes, 0, zeros.data()));
  // Opened again, nothing of it is lost.
  CHECK(File::open_update(dir / "f").or_throw().size().or_throw() == 16 * kPageBytes);
  CHECK(bytes_at(dir / "f") == bytes);
}

}  // namespace sluice::test
