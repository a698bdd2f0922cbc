// DiskProfile::measure: finds what to read and where to write, and measures point by point.
#include "core/interrupt.h"
#include "storage/io/disk_profile.h"
#include "storage/io/read_probe.h"
#include "storage/io/write_probe.h"

#include <sluice/units.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace sluice {
namespace {

constexpr std::uint64_t kLeastFileBytes = 256 * kMiB;  // a smaller one fits a disk's cache

Result<void> go_on() {
  if (!interrupted()) return {};
  return Error(ErrorCode::kInterrupted, "interrupted", "nothing was left; run the command again");
}

/// The folder of `place`, and the file there that is large enough to be read, if it is one.
struct ProbePlace {
  std::filesystem::path folder;
  std::shared_ptr<const File> file;
  std::uint64_t bytes = 0;
};

Result<ProbePlace> look_at(const std::filesystem::path& place) {
  std::error_code problem;
  const auto status = std::filesystem::status(place, problem);
  if (!std::filesystem::exists(status)) {
    return system_error(problem ? problem.value() : ENOENT, "cannot look at", place);
  }
  ProbePlace found;
  const bool is_folder = std::filesystem::is_directory(status);
  found.folder = is_folder ? place : place.parent_path();
  if (found.folder.empty()) found.folder = ".";
  if (!is_folder) {
    auto file = File::open_read(place, Direct::kAuto);
    if (!file) return std::move(file).error();
    auto bytes = file.value().size();
    if (!bytes) return std::move(bytes).error();
    if (bytes.value() >= kLeastFileBytes) {
      found.bytes = bytes.value();
      found.file = std::make_shared<const File>(std::move(file).value());
    }
  }
  return found;
}

Result<DiskRates> read_points(ReadProbe& probe) {
  DiskRates rates;
  for (std::size_t i = 0; i < rates.read_seconds.size(); ++i) {
    if (auto on = go_on(); !on) return std::move(on).error();
    auto seconds = probe.measure(DiskRates::kRequestBytes[i], ReadProbe::Order::kRandom);
    if (!seconds) return std::move(seconds).error();
    rates.read_seconds[i] = seconds.value();
  }
  auto seconds = probe.measure(kMiB, ReadProbe::Order::kSequential);
  if (!seconds) return std::move(seconds).error();
  rates.sequential_read = static_cast<double>(kMiB) / seconds.value();
  return rates;
}

}  // namespace

Result<DiskProfile> DiskProfile::measure(const std::filesystem::path& place,
                                         const DiskProbeOptions& options,
                                         MemoryLedger* ledger) {
  auto found = look_at(place);
  if (!found) return std::move(found).error();
  auto engine = make_io_engine(options.engine);
  if (!engine) return std::move(engine).error();
  auto made =
      AlignedBuffer::make(std::max(options.buffer_bytes / kMiB * kMiB, kMiB), ledger, "disk probe");
  if (!made) return std::move(made).error();
  auto buffer = std::make_shared<AlignedBuffer>(std::move(made).value());
  std::ranges::fill(buffer->bytes(), std::byte{1});  // page faults are not the disk's

  DiskOrigin origin;
  origin.engine = engine.value().engine->name();
  origin.depth = engine.value().engine->depth();
  origin.buffer_bytes = buffer->size();
  origin.measured = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());

  ProbePlace& to_read = found.value();
  const bool needs_scratch = to_read.file == nullptr;
  // The file to be read deserves more time than a figure alone.
  auto written = write_scratch(to_read.folder,
                               std::max(options.scratch_bytes / kMiB * kMiB, kMiB),
                               options.per_point * (needs_scratch ? 8 : 1),
                               buffer->bytes());
  if (!written && needs_scratch) return std::move(written).error();
  if (!written) origin.why_no_write = written.error().what();
  if (needs_scratch) {
    to_read.file = written.value().file;
    to_read.bytes = written.value().bytes;
  }

  origin.direct = to_read.file->direct();
  ReadProbe probe(std::move(engine.value().engine), options.per_point);
  if (auto attached = probe.attach(to_read.file, buffer, to_read.bytes); !attached)
    return std::move(attached).error();
  auto rates = read_points(probe);
  if (!rates) return std::move(rates).error();
  if (written) rates.value().sequential_write = written.value().bytes_per_second;
  origin.doubt = rates.value().doubt();
  return DiskProfile(rates.value(), std::move(origin));
}

}  // namespace sluice
