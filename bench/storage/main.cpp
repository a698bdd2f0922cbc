// bench/storage: how close BlockReader comes to a bare io_uring loop of the same requests.
#include "bench/storage/bytes_by_policy.h"
#include "bench/storage/gather.h"
#include "bench/storage/load.h"
#include "bench/storage/read_mix.h"
#include "bench/support/program.h"
#include "storage/io/disk_profile.h"

#include <chrono>
#include <optional>
#include <string>

namespace sluice::bench {
namespace {

const std::vector<ReadMix>& mixes() {
  static const std::vector<ReadMix> all{
      {"random_4k", 4 * 1024, Order::kRandom, Verify::kOff},
      {"random_4k_verified", 4 * 1024, Order::kRandom, Verify::kPages},
      {"random_16k", 16 * 1024, Order::kRandom, Verify::kOff},
      {"random_64k", 64 * 1024, Order::kRandom, Verify::kOff},
      {"random_256k", 256 * 1024, Order::kRandom, Verify::kOff},
      {"random_1m", 1024 * 1024, Order::kRandom, Verify::kOff},
      {"sequential_1m", 1024 * 1024, Order::kSequential, Verify::kOff},
  };
  return all;
}

Line disk_line(const ReadMix& mix, const MixResults& results) {
  Line line{
      .name = "disk", .work = static_cast<double>(results.bytes), .seconds = results.disk.seconds};
  line.more["mix"] = mix.name;
  line.more["requests"] = results.requests;
  line.more["cpu_us_per_request"] = results.disk.cpu_us_per_request;
  return line;
}

Line write_line(const WriteResult& result) {
  Line line{.name = "disk", .work = static_cast<double>(result.bytes), .seconds = result.seconds};
  line.more["mix"] = "sequential_write_1m";
  line.more["requests"] = result.requests;
  return line;
}

/// What the engine's own probe says of the same file; its rates are to match the lines before it.
Line profile_line(const DiskProfile& profile, double seconds) {
  Line line{.name = "disk", .work = 1, .unit = "probes", .seconds = seconds};
  line.more["mix"] = "profile";
  for (std::size_t i = 0; i < DiskRates::kRequestBytes.size(); ++i) {
    const double bytes = DiskRates::kRequestBytes[i];
    line.more["read_" + std::to_string(DiskRates::kRequestBytes[i]) + "_bytes_per_second"] =
        bytes / profile.rates().read_seconds[i];
  }
  line.more["sequential_read_bytes_per_second"] = profile.rates().sequential_read;
  line.more["sequential_write_bytes_per_second"] = profile.rates().sequential_write;
  line.more["request_overhead_bytes"] = profile.request_overhead_bytes();
  return line;
}

Line reader_line(const ReadMix& mix, const MixResults& results) {
  Line line{.name = mix.name,
            .work = static_cast<double>(results.bytes),
            .seconds = results.reader.seconds};
  line.disk_rate = static_cast<double>(results.bytes) / results.disk.seconds;
  line.more["engine"] = results.engine;
  line.more["requests"] = results.requests;
  line.more["cpu_us_per_request"] = results.reader.cpu_us_per_request;
  line.more["disk_cpu_us_per_request"] = results.disk.cpu_us_per_request;
  line.more["latency_p99_us"] = results.reader_p99_us;
  return line;
}

/// Makes the file when the first case needs it.
class Bench {
 public:
  void disk() {
    for (const ReadMix& mix : mixes()) {
      if (mix.verify == Verify::kOff)
        print(disk_line(mix, run_mix(file(), mix, options, Contenders::kDisk)));
    }
    print(write_line(run_write(dir, options)));
    const auto begin = Clock::now();
    const DiskProfile profile =
        DiskProfile::measure(path.empty() ? dir : path, {}, nullptr).or_throw();
    print(profile_line(profile, std::chrono::duration<double>(Clock::now() - begin).count()));
  }
  void reader(const ReadMix& mix) {
    print(reader_line(mix, run_mix(file(), mix, options, Contenders::kBoth)));
  }

  std::string path;
  std::string dir = ".";
  std::uint64_t scratch_mib = 2048;
  MixOptions options;

 private:
  const TestFile& file() {
    if (!file_) file_ = open_test_file(path, dir, scratch_mib * 1024 * 1024);
    return *file_;
  }
  std::optional<TestFile> file_;
};

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  sluice::bench::Bench bench;
  sluice::bench::PolicyOptions policies;
  sluice::bench::Program program("storage", "Reading, against the disk and against peers.");
  program.option("--file", bench.path, "read this file instead of a scratch file");
  program.option(
      "--dir", bench.dir, "where the scratch file is made; it vanishes with the program");
  program.option("--scratch-mib", bench.scratch_mib, "size of the scratch file");
  program.option(
      "--round-mib", bench.options.round_mib, "bytes read in a round, and the size of the buffer");
  program.option("--rounds", bench.options.rounds, "rounds of each contender");
  program.option("--depth", bench.options.depth, "requests in flight");
  program.add_case("disk",
                   "the bare loop alone, for each mix and for writes; the engine's probe",
                   [&] { bench.disk(); });
  for (const auto& mix : sluice::bench::mixes()) {
    program.add_case(mix.name, "BlockReader and the bare loop in turn", [&] { bench.reader(mix); });
  }
  program.add_case("load_array", "a data file of --scratch-mib loaded into memory", [&] {
    sluice::bench::load_array_case({bench.dir, bench.scratch_mib, bench.options.rounds});
  });
  program.option("--dataset", policies.dataset, "bytes_by_policy: a prepared graph to sample");
  program.option(
      "--scale", policies.scale, "bytes_by_policy: else an R-MAT graph of 2^scale nodes");
  program.option("--cache-percent", policies.cache_percent, "bytes_by_policy: cache, of the table");
  program.add_case("bytes_by_policy", "bytes an epoch by cache policy and plan, counted", [&] {
    policies.dir = bench.dir;
    sluice::bench::bytes_by_policy(policies);
  });
  sluice::bench::GatherOptions gather;
  program.option("--gather-rows", gather.rows, "gather_*: rows of 512 bytes in the table");
  program.option("--gather-batches", gather.batches, "gather_*: mini-batches of 100,000 ids");
  program.option("--contender", gather.contender, "internal: of the case gather_contender");
  program.option("--contender-budget", gather.budget, "internal");
  program.option("--contender-ids", gather.ids, "internal");
  program.option("--contender-read", gather.read, "internal");
  program.option("--contender-written", gather.written, "internal");
  program.option("--contender-write", gather.write, "internal");
  program.option("--contender-request", gather.request, "internal");
  program.option("--contender-fresh", gather.fresh, "internal");
  program.option("--trace", gather.trace, "gather_*: our trace goes there, for Perfetto");
  const auto add_gather = [&](const std::string& name, const std::string& ids, std::uint64_t mib) {
    program.add_case(name, "rows known ahead, against mmap and a page a row", [&, name, ids, mib] {
      gather.dir = bench.dir;
      sluice::bench::gather_case(name, ids, mib << 20, gather);
    });
  };
  add_gather("gather_uniform_2560MiB", "uniform", 2560);
  add_gather("gather_uniform_256MiB", "uniform", 256);
  add_gather("gather_zipf_256MiB", "zipf", 256);
  program.add_case("gather_contender", "internal: one contender of gather_*", [&] {
    gather.dir = bench.dir;
    if (!gather.contender.empty()) sluice::bench::run_contender(gather);
  });
  return program.run(argc, argv);
}
