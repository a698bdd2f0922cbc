// What others do with row ids: a map, or a page for each row.
#include "bench/storage/known_rows.h"
#include "core/threads.h"
#include "storage/io/aligned_buffer.h"
#include "storage/io/file.h"

#include <sluice/error.h>

#include <liburing.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <numeric>

namespace sluice::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr unsigned kPeerDepth = 128;

std::uint64_t first_word(const std::byte* row) {
  std::uint64_t word = 0;
  std::memcpy(&word, row, sizeof word);
  return word;
}

void check_table(std::uint32_t row_bytes) {
  if (kPageBytes % row_bytes != 0)
    throw Error(ErrorCode::kUsage, "this case needs rows that divide a page");
}

}  // namespace

Delivery deliver_mmap(const std::filesystem::path& table,
                      std::uint32_t row_bytes,
                      const KnownRows& known) {
  check_table(row_bytes);
  const File file = File::open_read(table).or_throw();
  const std::uint64_t bytes = file.size().or_throw();
  void* mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.fd(), 0);
  if (mapped == MAP_FAILED) throw system_error(errno, "cannot map", table);
  (void)::madvise(mapped, bytes, MADV_RANDOM);
  const auto* rows = static_cast<const std::byte*>(mapped);
  ThreadArena arena(2);
  std::vector<std::byte> out(known.batch_rows * row_bytes);
  Delivery delivery;
  delivery.how = "mmap, MADV_RANDOM, 2 threads";
  const auto begin = SteadyClock::now();
  for (std::uint64_t b = 0; b < known.batches; ++b) {
    const std::span<const std::uint32_t> ids = known.ids(b);
    arena.for_ranges(ids.size(), 1024, [&](std::size_t low, std::size_t high) {
      for (std::size_t i = low; i < high; ++i)
        std::memcpy(out.data() + i * row_bytes, rows + std::size_t{ids[i]} * row_bytes, row_bytes);
    });
    for (std::size_t i = 0; i < ids.size(); ++i)
      delivery.check += first_word(out.data() + i * row_bytes);
    delivery.useful += out.size();
  }
  delivery.seconds = std::chrono::duration<double>(SteadyClock::now() - begin).count();
  ::munmap(mapped, bytes);
  return delivery;
}

Delivery deliver_page_a_row(const std::filesystem::path& table,
                            std::uint32_t row_bytes,
                            const KnownRows& known) {
  check_table(row_bytes);
  const File file = File::open_read(table, Direct::kAuto).or_throw();
  AlignedBuffer pages = AlignedBuffer::make(kPeerDepth * kPageBytes, nullptr, "").or_throw();
  io_uring ring{};
  if (const int problem = ::io_uring_queue_init(kPeerDepth, &ring, 0); problem < 0)
    throw Error(ErrorCode::kResource, "no io_uring here");
  const std::unique_ptr<io_uring, void (*)(io_uring*)> closes(&ring, ::io_uring_queue_exit);
  const std::uint64_t per_page = kPageBytes / row_bytes;
  std::vector<std::byte> out(known.batch_rows * row_bytes);
  Delivery delivery;
  delivery.how = "io_uring, depth 128, a page a row";
  const auto begin = SteadyClock::now();
  for (std::uint64_t b = 0; b < known.batches; ++b) {
    const std::span<const std::uint32_t> ids = known.ids(b);
    std::vector<std::uint32_t> order(ids.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](auto x, auto y) { return ids[x] < ids[y]; });
    std::vector<unsigned> free(kPeerDepth);
    std::iota(free.begin(), free.end(), 0u);
    std::vector<std::pair<std::size_t, std::size_t>> runs(kPeerDepth);  // of `order`, by slot
    std::size_t next = 0;
    while (next < order.size() || free.size() < kPeerDepth) {
      while (next < order.size() && !free.empty()) {
        const std::uint64_t page = ids[order[next]] / per_page;
        std::size_t end = next + 1;
        while (end < order.size() && ids[order[end]] / per_page == page) ++end;
        const unsigned slot = free.back();
        free.pop_back();
        runs[slot] = {next, end};
        io_uring_sqe* entry = ::io_uring_get_sqe(&ring);
        ::io_uring_prep_read(
            entry, file.fd(), pages.data() + slot * kPageBytes, kPageBytes, page * kPageBytes);
        ::io_uring_sqe_set_data64(entry, slot);
        next = end;
        ++delivery.requests;
      }
      ::io_uring_submit_and_wait(&ring, 1);
      io_uring_cqe* done = nullptr;
      unsigned head = 0, count = 0;
      io_uring_for_each_cqe(&ring, head, done) {
        if (done->res != static_cast<int>(kPageBytes))
          throw Error(ErrorCode::kIo, "a page could not be read");
        const auto slot = static_cast<unsigned>(::io_uring_cqe_get_data64(done));
        for (std::size_t i = runs[slot].first; i < runs[slot].second; ++i) {
          const std::uint64_t within = ids[order[i]] % per_page * row_bytes;
          std::memcpy(out.data() + std::size_t{order[i]} * row_bytes,
                      pages.data() + slot * kPageBytes + within,
                      row_bytes);
        }
        free.push_back(slot);
        ++count;
      }
      ::io_uring_cq_advance(&ring, count);
    }
    for (std::size_t i = 0; i < ids.size(); ++i)
      delivery.check += first_word(out.data() + i * row_bytes);
    delivery.useful += out.size();
  }
  delivery.seconds = std::chrono::duration<double>(SteadyClock::now() - begin).count();
  delivery.read = delivery.requests * kPageBytes;
  return delivery;
}

}  // namespace sluice::bench
