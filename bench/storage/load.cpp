#include "bench/storage/load.h"

#include "bench/storage/scratch_file.h"
#include "bench/support/folder.h"
#include "bench/support/program.h"
#include "bench/support/raw_disk.h"
#include "storage/format/data_file_reader.h"
#include "storage/format/data_file_writer.h"

#include <sluice/units.h>

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

namespace sluice::bench {
namespace {

constexpr const char* kName = "table.bin";
constexpr unsigned kLoadDepth = 64;

Manifest write_table(const std::filesystem::path& folder, std::uint64_t mib) {
  DataFileWriter writer(folder, kName, nullptr);
  std::vector<std::byte> piece(kMiB);
  for (std::uint64_t i = 0; i < mib; ++i) {
    fill(piece, RandomKey(11).with(i));
    writer.append(piece);
  }
  Manifest manifest;
  manifest.files.emplace(kName, writer.finish());
  return manifest;
}

double seconds_of(const std::function<void()>& work) {
  const auto before = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - before).count();
}

}  // namespace

void load_array_case(const LoadOptions& options) {
  const Folder folder(std::filesystem::path(options.dir) / "bench-load");
  const Manifest manifest = write_table(folder.path(), options.mib);
  const File file = File::open_read(folder.path() / kName, Direct::kAuto).or_throw();
  AlignedBuffer buffer = AlignedBuffer::make(kLoadDepth * kMiB, nullptr, "benchmark").or_throw();
  RawDisk disk(file.fd(), buffer.bytes(), kLoadDepth);
  std::vector<BlockRead> reads(options.mib);
  for (std::uint64_t i = 0; i < reads.size(); ++i)
    reads[i] = {FileSlot{0}, BufferSlot{0}, kMiB, i * kMiB, i % kLoadDepth * kMiB};
  const auto load = [&](std::optional<IoChoice> ahead) {
    const auto extent = static_cast<std::int64_t>(options.mib * kMiB);
    (void)load_array(folder.path(), manifest, kName, DType::kU8, {extent}, {}, "table", ahead)
        .or_throw();
  };

  std::vector<double> bare, ahead, pieces;
  for (std::uint64_t round = 0; round <= options.rounds; ++round) {
    const double of_bare = seconds_of([&] { disk.read(reads); });
    const double of_ahead = seconds_of([&] { load(IoChoice::kAuto); });
    const double of_pieces = seconds_of([&] { load(std::nullopt); });
    if (round == 0) continue;  // warms up
    bare.push_back(of_bare);
    ahead.push_back(of_ahead);
    pieces.push_back(of_pieces);
  }
  const double work = static_cast<double>(options.mib * kMiB);
  Line line{.name = "load_array", .work = work, .seconds = median(ahead)};
  line.disk_rate = work / median(bare);
  line.peer = "a MiB at a time";
  line.peer_rate = work / median(pieces);
  print(line);
}

}  // namespace sluice::bench
