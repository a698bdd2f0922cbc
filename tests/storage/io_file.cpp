// Files and buffers: the errors they end in, and what they charge.
#include "io_support.h"
#include "storage/io/directory_lock.h"
#include "storage/io/file_closer.h"
#include "storage/io/scratch_files.h"
#include "support/temp_dir.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace sluice::test {

TEST_CASE("a folder's lock: held by one, free again after it, and told why it cannot be had") {
  const TempDir dir;
  {
    const auto mine = DirectoryLock::lock_or_error(dir.path()).or_throw();
    CHECK(mine.has_value());
    CHECK_FALSE(DirectoryLock::lock_or_error(dir.path()).or_throw().has_value());
    CHECK_FALSE(DirectoryLock::try_lock(dir.path()).has_value());
  }
  CHECK(DirectoryLock::lock_or_error(dir.path()).or_throw().has_value());
  const auto missing = DirectoryLock::lock_or_error(dir / "missing");
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().what() ==
        (dir / "missing").string() + ": cannot open the folder: no such file");
  CHECK_FALSE(DirectoryLock::try_lock(dir / "missing").has_value());
}

TEST_CASE("files: errors carry the path, the reason and the code") {
  const TempDir dir;
  const auto missing = File::open_read(dir / "missing");
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().code() == ErrorCode::kData);
  CHECK(missing.error().what() == (dir / "missing").string() + ": cannot open: no such file");
  const auto folder_as_file = File::open_read(dir / ".");
  REQUIRE_FALSE(folder_as_file.ok());
  CHECK(folder_as_file.error().message() == "cannot open: Is a directory");
  CHECK(folder_as_file.error().code() == ErrorCode::kData);
  const auto nowhere = File::create(dir / "no/such/folder");
  REQUIRE_FALSE(nowhere.ok());
  CHECK(nowhere.error().message() == "cannot create: no such file");
  for (const int error_number : {ENOSPC, EDQUOT, EFBIG, EMFILE}) {
    CHECK(system_error(error_number, "cannot write", "/x", 7).code() == ErrorCode::kResource);
  }
  const Error full = system_error(ENOSPC, "cannot write", "/x", 7);
  CHECK(std::string(full.what()) == "/x at byte 7: cannot write: No space left on device");
  CHECK(system_error(EROFS, "cannot create", "/x").code() == ErrorCode::kIo);
  CHECK(system_error(EACCES, "cannot open", "/x").code() == ErrorCode::kIo);
}

TEST_CASE("files: a full disk is a resource error, a short file a data error") {
  const TempDir dir;
  if (std::filesystem::exists("/dev/full")) {
    auto full = File::create("/dev/full");
    REQUIRE(full.ok());
    const std::vector<std::byte> bytes(100);
    const auto written = full.value().write_at(0, bytes);
    REQUIRE_FALSE(written.ok());
    CHECK(written.error().code() == ErrorCode::kResource);
    CHECK(written.error().place().file == "/dev/full");
  }
  const KnownFile file(dir / "f", 2 * kPageBytes);
  for (const Direct direct : {Direct::kAuto, Direct::kOff}) {
    const auto buffer = make_buffer(3 * kPageBytes);
    const auto opened = file.open(direct);
    CHECK(opened->size().or_throw() == 2 * kPageBytes);
    CHECK(opened->read_at(0, buffer->bytes().first(2 * kPageBytes)).ok());
    CHECK(std::memcmp(buffer->data(), file.bytes.data(), file.bytes.size()) == 0);
    const auto past = opened->read_at(0, buffer->bytes());
    REQUIRE_FALSE(past.ok());
    CHECK(past.error().code() == ErrorCode::kData);
    CHECK(past.error().message() == "the file is truncated: 4096 more bytes were expected here");
    CHECK(past.error().place().offset == 2 * kPageBytes);
  }
  CHECK(read_text_file(file.path, 2 * kPageBytes).or_throw().size() == 2 * kPageBytes);
  CHECK(read_text_file(file.path, 10).error().code() == ErrorCode::kData);
  CHECK(sync_directory(dir / ".").ok());

  auto scratch = File::scratch(dir.path(), Direct::kAuto);
  REQUIRE(scratch.ok());
  CHECK(scratch.value().reserve(5 * kPageBytes).ok());
  CHECK(scratch.value().size().or_throw() == 5 * kPageBytes);
  CHECK(scratch.value().reserve(7 * kPageBytes, 5 * kPageBytes).ok());
  CHECK(scratch.value().size().or_throw() == 7 * kPageBytes);
  CHECK(scratch.value().reserve(5 * kPageBytes, 5 * kPageBytes).ok());
  CHECK(scratch.value().size().or_throw() == 5 * kPageBytes);
  const auto refused = scratch.value().reserve(std::uint64_t{1} << 62);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code() == ErrorCode::kResource);
  CHECK(refused.error().message().find("cannot reserve ") == 0);
}

TEST_CASE("files that are closed on a thread of their own are closed when one waits for it") {
  const TempDir dir;
  std::vector<std::weak_ptr<const File>> files;
  {
    FileCloser closer;
    closer.wait();  // for nothing
    for (int i = 0; i < 20; ++i) {
      auto file = std::make_shared<File>(File::scratch(dir.path()).or_throw());
      REQUIRE(file->write_at(0, std::vector<std::byte>(1 << 16)).ok());
      files.push_back(file);
      closer.close(std::move(file));
    }
    closer.wait();
    for (const auto& file : files) CHECK(file.expired());
    // Who else has a file keeps it open.
    const auto shared = std::make_shared<File>(File::scratch(dir.path()).or_throw());
    closer.close(shared);
    closer.wait();
    CHECK(shared->size().ok());
    for (int i = 0; i < 20; ++i) {
      auto file = std::make_shared<File>(File::scratch(dir.path()).or_throw());
      files.push_back(file);
      closer.close(std::move(file));
    }
  }
  for (const auto& file : files) CHECK(file.expired());
}

TEST_CASE("scratch files that were given back serve again, the one that fits first") {
  const TempDir dir, other;
  constexpr std::uint64_t kMib = 1 << 20;
  ScratchFiles files;
  files.drop();  // there is none
  const AlignedBuffer page = AlignedBuffer::make(kPageBytes, nullptr, "page").or_throw();
  const auto made = [&](const TempDir& in, std::uint64_t bytes) {
    std::shared_ptr<File> file = files.take(in.path(), bytes);
    CHECK(file->size().or_throw() == bytes);
    return file;
  };
  std::shared_ptr<File> small = made(dir, kMib), large = made(dir, 3 * kMib);
  const int fd_small = small->fd(), fd_large = large->fd();
  CHECK(fd_small != fd_large);
  files.give_back(std::move(small));
  files.give_back(std::move(large));
  CHECK(small == nullptr);

  // A file has the length that was asked for, whatever it had.
  small = made(dir, kMib / 2);
  CHECK(small->fd() == fd_small);
  large = made(dir, 5 * kMib);
  CHECK(large->fd() == fd_large);
  CHECK(large->write_at(5 * kMib - kPageBytes, page.bytes()).ok());
  files.give_back(std::move(small));
  files.give_back(std::move(large));
  const auto unsized = files.take(dir.path(), 0);
  CHECK(unsized->fd() == fd_small);
  const auto elsewhere = files.take(other.path(), 0);
  CHECK(elsewhere->path() == other.path());
  CHECK(elsewhere->fd() != fd_large);
  large = made(dir, 2 * kMib);
  CHECK(large->fd() == fd_large);

  // What someone else has is not for others to write in.
  const auto held = large;
  files.give_back(std::move(large));
  CHECK(files.take(dir.path(), 0)->fd() != held->fd());
  files.drop();
  CHECK(held->size().ok());
}

TEST_CASE("scratch files that are kept go when the disk is wanted, and with their owner") {
  const TempDir dir;
  std::vector<std::weak_ptr<File>> all;
  {
    ScratchFiles files;
    for (int i = 0; i < 2; ++i) {
      const auto one = files.take(dir.path(), 1 << 20);
      all.push_back(one);
    }
    CHECK(all[0].expired());  // closed by who had it
    for (int i = 0; i < 2; ++i) {
      auto one = files.take(dir.path(), 1 << 20);
      all.push_back(one);
      files.give_back(std::move(one));
    }
    CHECK_FALSE(all[3].expired());
    // More than any disk has: all that is kept makes way first, and then it is an error.
    try {
      (void)files.take(dir.path(), std::uint64_t{1} << 62);
      FAIL("there is no such disk");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::kResource);
    }
    CHECK(all[3].expired());
    auto last = files.take(dir.path(), 1 << 20);
    all.push_back(last);
    files.give_back(std::move(last));
    files.drop();
    CHECK(all.back().expired());
    last = files.take(dir.path(), 1 << 20);
    all.push_back(last);
    files.give_back(std::move(last));
    CHECK_FALSE(all.back().expired());
  }
  CHECK(all.back().expired());
}

TEST_CASE("aligned buffers are charged, page-aligned, zero, and given back") {
  MemoryLedger ledger(8 * 1024 * 1024);
  {
    AlignedBuffer small = AlignedBuffer::make(100, &ledger, "small").or_throw();
    AlignedBuffer large = AlignedBuffer::make(3 * 1024 * 1024 + 1, &ledger, "large").or_throw();
    CHECK(small.size() == kPageBytes);
    CHECK(ledger.used() == small.size() + large.size());
    CHECK(reinterpret_cast<std::uintptr_t>(small.data()) % kPageBytes == 0);
    CHECK(reinterpret_cast<std::uintptr_t>(large.data()) % (2 * 1024 * 1024) == 0);
    CHECK(std::ranges::all_of(large.bytes(), [](std::byte byte) { return byte == std::byte{0}; }));
    AlignedBuffer moved = std::move(large);
    CHECK(moved.data() != nullptr);
    CHECK(ledger.used() == small.size() + moved.size());
    const auto refused = AlignedBuffer::make(8 * 1024 * 1024, &ledger, "too large");
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code() == ErrorCode::kResource);
  }
  CHECK(ledger.used() == 0);
  {
    AlignedBuffer buffer = AlignedBuffer::make(5 * 1024 * 1024, &ledger, "large").or_throw();
    std::ranges::fill(buffer.bytes(), std::byte{7});
    buffer.shrink(3 * 1024 * 1024 - 1, "small");
    CHECK(buffer.size() == 3 * 1024 * 1024);
    CHECK(ledger.used() == buffer.size());
    CHECK(std::ranges::all_of(buffer.bytes(), [](std::byte byte) { return byte == std::byte{7}; }));
    buffer.shrink(8 * 1024 * 1024, "small");
    CHECK(buffer.size() == 3 * 1024 * 1024);
  }
  CHECK(ledger.used() == 0);
  CHECK(AlignedBuffer::make(0, &ledger, "nothing").or_throw().size() == 0);
  CHECK_FALSE(AlignedBuffer::make(~std::uint64_t{0} - 10000, nullptr, "the sky").ok());
  MemoryLedger small_ledger(1024 * 1024);
  const TempDir dir;
  const KnownFile file(dir / "f", 2 * 1024 * 1024);
  IoEngineOptions options = engine_options(IoEngineKind::kMemory);
  options.ledger = &small_ledger;
  const auto engine = make_io_engine(options).or_throw().engine;
  CHECK(engine->attach_file(file.open()).error().code() == ErrorCode::kResource);
}

}  // namespace sluice::test
