#include "bench/embedding/bare_table.h"

#include "bench/support/seconds.h"

#include <sluice/random.h>
#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace sluice::bench {
namespace {

constexpr unsigned kDepth = 64;
constexpr std::uint64_t kMostRequest = kMiB;

}  // namespace

BareTable::BareTable(const std::filesystem::path& folder, std::uint64_t bytes)
    : bytes_(round_up_to_page(bytes)),
      file_(File::scratch(folder, Direct::kAuto).or_throw()),
      buffer_(AlignedBuffer::make(kDepth * kMostRequest, nullptr, "benchmark").or_throw()) {
  // Some disks answer pages of zeros without reading anything.
  for (std::size_t at = 0; at + 8 <= buffer_.size(); at += 8) {
    const std::uint64_t word = RandomKey(17).draw(at / 8);
    std::memcpy(buffer_.data() + at, &word, sizeof word);
  }
  for (std::uint64_t at = 0; at < bytes_; at += buffer_.size())
    file_.write_at(at, buffer_.bytes().first(std::min<std::uint64_t>(buffer_.size(), bytes_ - at)))
        .or_throw();
  file_.sync().or_throw();
  if (!direct()) {
    fmt::print(stderr,
               "embedding: {} has no O_DIRECT, so the disk itself is not measured beside: choose "
               "another place with --dir\n",
               folder.string());
    return;
  }
  disk_ = std::make_unique<RawDisk>(file_.fd(), buffer_.bytes(), kDepth);
}

bool BareTable::direct() const {
  return file_.direct();
}

double BareTable::seconds(const std::vector<Piece>& pieces) {
  std::vector<RawDisk::Transfer> transfers;
  for (const Piece& piece : pieces) {
    for (std::uint64_t done = 0; done < piece.length; done += kMostRequest) {
      const auto length = static_cast<std::uint32_t>(std::min(kMostRequest, piece.length - done));
      transfers.push_back({{FileSlot{0},
                            BufferSlot{0},
                            length,
                            piece.offset + done,
                            transfers.size() % kDepth * kMostRequest},
                           piece.direction});
    }
  }
  const auto begin = std::chrono::steady_clock::now();
  disk_->move(transfers);
  return seconds_since(begin);
}

}  // namespace sluice::bench
