#include "bench/storage/read_mix.h"

#include "bench/support/program.h"
#include "bench/support/raw_disk.h"

#include <sluice/random.h>

#include <sys/resource.h>

#include <functional>

namespace sluice::bench {
namespace {

/// Reads that fill the buffer once. Random ones differ from round to round, as a disk may
/// remember what it read.
std::vector<BlockRead> requests_of(const ReadMix& mix,
                                   std::uint64_t file_bytes,
                                   std::uint64_t bytes,
                                   RandomKey key) {
  std::vector<BlockRead> reads(bytes / mix.length);
  const std::uint64_t places = file_bytes / mix.length;
  for (std::uint64_t i = 0; i < reads.size(); ++i) {
    const std::uint64_t place =
        mix.order == Order::kRandom ? key.below(places, i) : (key.draw(0) + i) % places;
    reads[i] = {FileSlot{0}, BufferSlot{0}, mix.length, place * mix.length, i * mix.length};
  }
  return reads;
}

double cpu_us() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto us = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

struct Rounds {
  std::vector<double> seconds;
  std::vector<double> cpu_us;

  void time(const std::function<void()>& work) {
    const double cpu_before = bench::cpu_us();
    const auto before = Clock::now();
    work();
    seconds.push_back(std::chrono::duration<double>(Clock::now() - before).count());
    cpu_us.push_back(bench::cpu_us() - cpu_before);
  }
  MixResult result(std::uint64_t requests) const {
    if (seconds.empty()) return {};
    return {median(seconds), median(cpu_us) / static_cast<double>(requests)};
  }
};

}  // namespace

MixResults run_mix(const TestFile& file,
                   const ReadMix& mix,
                   const MixOptions& options,
                   Contenders contenders) {
  const std::uint64_t bytes = options.round_mib * 1024 * 1024 / mix.length * mix.length;
  auto buffer =
      std::make_shared<AlignedBuffer>(AlignedBuffer::make(bytes, nullptr, "benchmark").or_throw());
  RawDisk disk(file.file->fd(), buffer->bytes(), static_cast<unsigned>(options.depth));

  IoEngineOptions engine_options;
  engine_options.depth = options.depth;
  BlockReader reader(make_io_engine(engine_options).or_throw().engine);
  const bool verified = mix.verify == Verify::kPages;
  reader.attach(file.file, verified ? std::span(file.page_sums) : std::span<const std::uint32_t>{})
      .or_throw();
  reader.attach(buffer).or_throw();

  Rounds disk_rounds;
  Rounds reader_rounds;
  for (std::uint64_t round = 0; round <= options.rounds; ++round) {
    const RandomKey key = RandomKey(7).with(mix.name).with(round);
    const auto for_disk = requests_of(mix, file.bytes, bytes, key.with("disk"));
    const auto for_reader = requests_of(mix, file.bytes, bytes, key.with("reader"));
    if (round == 0) {  // warms up page tables, clocks and the disk; not counted
      disk.read(for_disk);
      continue;
    }
    disk_rounds.time([&] { disk.read(for_disk); });
    if (contenders == Contenders::kBoth)
      reader_rounds.time([&] { reader.read(for_reader).or_throw(); });
  }

  MixResults results;
  results.bytes = bytes;
  results.requests = bytes / mix.length;
  results.disk = disk_rounds.result(results.requests);
  results.reader = reader_rounds.result(results.requests);
  results.engine = reader.engine().name();
  results.reader_p99_us = static_cast<std::uint64_t>(reader.stats().latency.quantile(0.99).count());
  return results;
}

WriteResult run_write(const std::string& dir, const MixOptions& options) {
  constexpr std::uint64_t kPiece = 1024 * 1024;
  constexpr unsigned kInFlight = 16;
  File file = File::scratch(dir, Direct::kAuto).or_throw();
  AlignedBuffer buffer = AlignedBuffer::make(kInFlight * kPiece, nullptr, "benchmark").or_throw();
  fill(buffer.bytes(), RandomKey(3));
  WriteResult result;
  result.requests = options.round_mib;
  result.bytes = result.requests * kPiece;
  std::vector<BlockRead> pieces(result.requests);
  for (std::uint64_t i = 0; i < pieces.size(); ++i)
    pieces[i] = {FileSlot{0}, BufferSlot{0}, kPiece, i * kPiece, i % kInFlight * kPiece};
  RawDisk disk(file.fd(), buffer.bytes(), kInFlight);
  Rounds rounds;
  for (std::uint64_t round = 0; round <= options.rounds; ++round) {
    if (round == 0) {  // takes the space, so that no counted write grows the file
      disk.write(pieces);
      file.sync().or_throw();
    } else {
      rounds.time([&] { disk.write(pieces); });
    }
  }
  result.seconds = rounds.result(result.requests).seconds;
  return result;
}

}  // namespace sluice::bench
