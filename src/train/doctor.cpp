#include "train/doctor.h"

#include "core/interrupt.h"
#include "core/threads.h"
#include "storage/io/block_reader.h"

#include <sluice/random.h>
#include <sluice/units.h>

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <utility>

namespace sluice {
namespace {

constexpr std::uint64_t kWaveBytes = 16 * kMiB;  // read between two looks at the clock
constexpr double kLongest = 1.0;                 // seconds a figure

// A file of random bytes whose name is gone as soon as it is open: not even a kill leaves it
// behind.
std::shared_ptr<const File> scratch_file(const std::filesystem::path& folder, std::uint64_t bytes) {
  const std::filesystem::path path = folder / fmt::format(".sluice-doctor-{}", ::getpid());
  try {
    File file = File::create(path).or_throw();
    std::vector<std::uint64_t> block(kMiB / sizeof(std::uint64_t));
    for (std::uint64_t at = 0; at < bytes; at += kMiB) {
      throw_if_interrupted();
      const RandomKey key = RandomKey(1).with(at);
      for (std::size_t i = 0; i < block.size(); ++i) block[i] = key.draw(i);
      file.write_at(at, std::as_bytes(std::span(block))).or_throw();
    }
    file.sync().or_throw();
    file.close().or_throw();
    auto opened = std::make_shared<const File>(File::open_read(path, Direct::kAuto).or_throw());
    std::filesystem::remove(path);
    return opened;
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    throw;
  }
}

enum class Order { kRandom, kSequential };

ReadFigure measure(BlockReader& reader,
                   FileSlot file,
                   BufferSlot buffer,
                   std::uint64_t file_bytes,
                   std::uint32_t length,
                   Order order) {
  ReadFigure figure;
  figure.name =
      fmt::format("{} {}", order == Order::kRandom ? "random" : "sequential", format_bytes(length));
  const std::uint64_t pieces = file_bytes / length;
  const RandomKey key = RandomKey(2).with(length);
  const auto begin = std::chrono::steady_clock::now();
  std::uint64_t next = 0;
  while (figure.seconds < kLongest && next < pieces) {
    throw_if_interrupted();
    std::vector<BlockRead> reads;
    for (std::uint64_t at = 0; at + length <= kWaveBytes && next < pieces; at += length, ++next) {
      const std::uint64_t piece = order == Order::kRandom ? key.below(pieces, next) : next;
      reads.push_back({file, buffer, length, piece * length, at});
    }
    reader.read(reads).or_throw();
    figure.requests += reads.size();
    figure.bytes += reads.size() * length;
    figure.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  return figure;
}

void measure_device(DoctorReport& report,
                    const std::filesystem::path& folder,
                    std::uint64_t bytes) {
  IoEngineChoice choice = make_io_engine({}).or_throw();
  report.engine = choice.engine->name();
  report.why_engine = choice.reason;
  report.folder = folder.string();
  if (bytes == 0) return;
  const auto file = scratch_file(folder, bytes / kMiB * kMiB);
  report.direct = file->direct();
  BlockReader reader(std::move(choice.engine));
  const FileSlot slot = reader.attach(file).or_throw();
  const BufferSlot buffer = reader
                                .attach(std::make_shared<AlignedBuffer>(
                                    AlignedBuffer::make(kWaveBytes, nullptr, "doctor").or_throw()))
                                .or_throw();
  const std::uint64_t size = file->size().or_throw();
  report.reads.push_back(measure(reader, slot, buffer, size, 4 * kKiB, Order::kRandom));
  report.reads.push_back(measure(reader, slot, buffer, size, 64 * kKiB, Order::kRandom));
  report.reads.push_back(measure(reader, slot, buffer, size, 1 * kMiB, Order::kSequential));
}

}  // namespace

DoctorReport examine(const std::filesystem::path& folder, std::uint64_t scratch_bytes) {
  DoctorReport report;
  report.cores = available_cores();
  report.memory_granted = memory_granted();
  report.cgroup = read_cgroup_memory();
  report.libtorch = TORCH_VERSION;
  report.isa = at::get_cpu_capability();
  report.torch_threads = at::get_num_threads();
  const char* mkl = std::getenv("MKL_CBWR");
  report.mkl = mkl == nullptr ? "not set" : mkl;
  measure_device(report, folder, scratch_bytes);
  return report;
}

std::string to_text(const DoctorReport& report) {
  const auto line = [](const char* name, const std::string& value) {
    return fmt::format("{:<12}  {}\n", name, value);
  };
  std::string memory = format_bytes(report.memory_granted) + " granted";
  if (report.cgroup.limit != 0) {
    memory += fmt::format(" by memory cgroup v{} {}", report.cgroup.version, report.cgroup.path);
  } else {
    memory += ", no memory cgroup limit";
  }
  std::string text = line("cores", std::to_string(report.cores)) + line("memory", memory) +
                     line("LibTorch",
                          fmt::format("{}, {}, {} threads, MKL_CBWR {}",
                                      report.libtorch,
                                      report.isa,
                                      report.torch_threads,
                                      report.mkl)) +
                     line("engine", fmt::format("{} ({})", report.engine, report.why_engine));
  if (report.reads.empty()) return text;
  text += line("folder",
               fmt::format("{}, reads {}",
                           report.folder,
                           report.direct ? "pass the page cache by" : "go through the page cache"));
  for (const ReadFigure& read : report.reads) {
    text += fmt::format("  {:<18}  {:>9.1f} MB/s  {:>9} requests/s\n",
                        read.name,
                        read.bytes_per_second() / 1e6,
                        format_count(static_cast<std::uint64_t>(read.requests_per_second())));
  }
  return text;
}

}  // namespace sluice
