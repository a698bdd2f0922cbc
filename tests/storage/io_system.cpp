// What the machine may refuse: io_uring itself, locked memory, threads that never come back,
// descriptors, space.
#include "io_support.h"
#include "storage/io/block_reader.h"
#include "storage/io/engines.h"
#include "support/temp_dir.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <future>
#include <thread>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#endif
#endif

namespace sluice::test {
namespace {

/// What is abandoned under a disk that never answers is leaked on purpose: LeakSanitizer is told
/// so.
class ExpectedLeak {
 public:
#ifdef SANITIZER_LSAN_INTERFACE_H
  ExpectedLeak() {
    __lsan_disable();
  }
  ~ExpectedLeak() {
    __lsan_enable();
  }
#else
  ExpectedLeak() {}
  ~ExpectedLeak() {}
#endif
  ExpectedLeak(const ExpectedLeak&) = delete;
  ExpectedLeak& operator=(const ExpectedLeak&) = delete;
};

/// Runs `test` on a thread of its own to which io_uring_setup is denied, as a container's profile
/// denies it.
void without_io_uring(const std::function<void()>& test) {
  std::thread([&] {
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_setup, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter{4, program};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
      MESSAGE("skipped: this system does not allow a seccomp filter: ", std::strerror(errno));
      return;
    }
    test();
  }).join();
}

bool have_io_uring() {
  return make_io_engine(engine_options(IoEngineKind::kIoUring)).ok();
}

/// In a child without privileges and with hardly any lockable memory: reads `file` through
/// io_uring. 0 when right.
int read_without_memlock(const KnownFile& file) {
  const auto opened = file.open();
  const rlimit limit{64 * 1024, 64 * 1024};
  if (::setrlimit(RLIMIT_MEMLOCK, &limit) != 0) return 10;
  if (::geteuid() == 0 &&
      (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0))
    return 11;
  auto choice = make_io_engine(engine_options(IoEngineKind::kIoUring));
  if (!choice) return 12;
  BlockReader reader(std::move(choice).value().engine);
  const auto buffer = make_buffer(64 * 1024 * 1024);
  const auto from = reader.attach(opened, file.page_sums);
  const auto to = reader.attach(buffer);
  if (!from || !to) return 13;
  std::vector<BlockRead> reads;
  for (std::uint64_t at = 0; at < file.bytes.size(); at += kPageBytes) {
    reads.push_back({from.value(), to.value(), kPageBytes, at, at});
  }
  if (!reader.read(reads)) return 14;
  return std::memcmp(buffer->data(), file.bytes.data(), file.bytes.size()) == 0 ? 0 : 15;
}

}  // namespace

TEST_CASE("where io_uring is denied, auto reads with pread and says why; by name it is an error") {
  without_io_uring([] {
    const auto choice = make_io_engine(engine_options(IoEngineKind::kAuto));
    REQUIRE(choice.ok());
    CHECK(choice.value().engine->name() == "pread");
    CHECK(choice.value().reason ==
          "io_uring refused: Operation not permitted; reading with 4 pread threads");
    const auto named = make_io_engine(engine_options(IoEngineKind::kIoUring));
    REQUIRE_FALSE(named.ok());
    CHECK(named.error().code() == ErrorCode::kResource);
    CHECK(named.error().message() == "io_uring refused: Operation not permitted");
    CHECK(named.error().hint().find("seccomp") != std::string::npos);
  });
}

TEST_CASE("an engine of an impossible depth is refused") {
  for (const std::size_t depth : {std::size_t{0}, kMaxIoDepth + 1}) {
    const auto choice = make_io_engine(engine_options(IoEngineKind::kPread, depth));
    REQUIRE_FALSE(choice.ok());
    CHECK(choice.error().code() == ErrorCode::kInternal);
  }
  CHECK(make_io_engine(engine_options(IoEngineKind::kMemory, kMaxIoDepth)).ok());
}

TEST_CASE("without privileges and lockable memory io_uring still reads") {
  if (!have_io_uring()) {
    MESSAGE("skipped: no io_uring here");
    return;
  }
  const TempDir dir;
  const KnownFile file(dir / "f", 64 * kPageBytes);
  const auto child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(read_without_memlock(file));
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));  // NOLINT(misc-include-cleaner): of <sys/wait.h>
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a buffer of more than 1 GiB is registered in parts and read into across their edge") {
  if (!have_io_uring() || kSanitized) {
    MESSAGE("skipped: no io_uring here, or a sanitizer that would touch a GiB of shadow");
    return;
  }
  constexpr std::uint64_t kEdge = std::uint64_t{1} << 30;
  const TempDir dir;
  const KnownFile file(dir / "f", 8 * kPageBytes);
  BlockReader reader(make_io_engine(engine_options(IoEngineKind::kIoUring)).or_throw().engine);
  const auto buffer = make_buffer(kEdge + 16 * kPageBytes);
  const FileSlot from = reader.attach(file.open(), file.page_sums).or_throw();
  const BufferSlot to = reader.attach(buffer).or_throw();
  const std::vector<BlockRead> reads{{from, to, 8 * kPageBytes, 0, kEdge - 12 * kPageBytes},
                                     {from, to, 8 * kPageBytes, 0, kEdge - 4 * kPageBytes},
                                     {from, to, 8 * kPageBytes, 0, kEdge + 8 * kPageBytes}};
  REQUIRE(reader.read(reads).ok());
  for (const BlockRead& read : reads) {
    CHECK(std::memcmp(buffer->data() + read.buffer_offset, file.bytes.data(), read.length) == 0);
  }
}

TEST_CASE("io_uring destroyed under a disk that never answers neither hangs nor frees the buffer") {
  if (!have_io_uring()) {
    MESSAGE("skipped: no io_uring here");
    return;
  }
  const ExpectedLeak leak;
  int ends[2] = {-1, -1};
  REQUIRE(::pipe(ends) == 0);
  // An empty pipe never answers, which no disk at hand can be made to do.
  const std::string path = "/proc/self/fd/" + std::to_string(ends[0]);
  auto file = std::make_shared<const File>(File::open_read(path).or_throw());
  auto buffer = make_buffer(kPageBytes);
  auto engine = make_io_engine(engine_options(IoEngineKind::kIoUring)).or_throw().engine;
  const IoRequest request{engine->attach_file(file).or_throw(),
                          engine->attach_buffer(buffer).or_throw(),
                          kPageBytes,
                          0,
                          0,
                          1};
  REQUIRE(engine->submit({&request, 1}).or_throw() == 1);
  std::vector<IoCompletion> out(1);
  CHECK(engine->reap(out, Clock::now() + std::chrono::milliseconds(50)).or_throw() == 0);
  const std::weak_ptr<AlignedBuffer> alive = buffer;
  buffer.reset();
  const auto begin = Clock::now();
  engine.reset();
  CHECK(Clock::now() - begin < kDrainGrace + std::chrono::seconds(10));
  CHECK_FALSE(alive.expired());
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("a thread stuck in pread hangs nobody and loses no memory") {
  const ExpectedLeak leak;
  const TempDir dir;
  const KnownFile file(dir / "f", 4 * kPageBytes);
  // Outlives this test as the detached threads do.
  struct Gate {
    std::promise<void> open;
    std::shared_future<void> opened{open.get_future()};
    std::atomic<int> passed{0};
  };
  const auto gate = std::make_shared<Gate>();
  auto engine =
      make_pread_engine(engine_options(IoEngineKind::kPread),
                        [gate](int, void* to, std::size_t bytes, off_t) {
                          gate->opened.wait();
                          std::memset(to, 1, bytes);  // late, into memory that must still be there
                          ++gate->passed;
                          return static_cast<ssize_t>(bytes);
                        })
          .or_throw();
  auto buffer = make_buffer(64 * kPageBytes);
  const FileSlot from = engine->attach_file(file.open()).or_throw();
  const BufferSlot to = engine->attach_buffer(buffer).or_throw();
  std::vector<IoRequest> requests;
  for (std::uint64_t i = 0; i < 16; ++i)
    requests.push_back({from, to, kPageBytes, 0, i * kPageBytes, i});
  REQUIRE(engine->submit(requests).or_throw() == requests.size());
  std::vector<IoCompletion> out(4);
  CHECK(engine->reap(out, Clock::now() + std::chrono::milliseconds(50)).or_throw() == 0);
  const std::weak_ptr<AlignedBuffer> alive = buffer;
  buffer.reset();
  engine.reset();
  CHECK_FALSE(alive.expired());
  gate->open.set_value();
  for (int i = 0; i < 1000 && gate->passed < 4; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK(gate->passed == 4);  // one a thread; what had not begun was dropped
}

}  // namespace sluice::test
