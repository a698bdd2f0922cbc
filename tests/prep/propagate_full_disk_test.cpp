// Propagation onto a full file system: one clear error, and the dataset as it was. Needs the right
// to make a mount namespace; reports itself skipped (77) without.
#include "prep/check/verify.h"
#include "prep/propagate/propagate.h"
#include "propagate_support.h"
#include "support/expect_error.h"
#include "support/own_mounts.h"

#include <fmt/format.h>

#include <string>

using namespace sluice;
using namespace sluice::test;

namespace {

PropagationOptions sign_options() {
  PropagationOptions options;
  options.method = PropagationMethod::kSign;
  options.hops = 3;
  options.name = "s";
  options.dtype = DType::kF32;
  options.panel = 4;  // so that features are cut into panels on the disk as well
  return options;
}

SampleOptions disk_sample() {
  SampleOptions sample;
  sample.nodes = 3000;
  sample.edges = 6000;
  sample.dim = 32;
  return sample;
}

std::size_t entries_in(const std::filesystem::path& folder) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

}  // namespace

TEST_CASE("no space for tables is said before the first is written") {
  need_own_mounts();
  const TempDir dir;
  const Mount disk(dir / "out", "size=1700k");
  write_sample(dir / "out/x", disk_sample());
  const std::uint64_t before = disk.used_bytes();
  PropagationSession session;
  const Error error = expect_error([&] { session.run(dir / "out/x", sign_options()); });
  CHECK(error.code() == ErrorCode::kResource);
  CHECK(std::string(error.message()).find("the propagated tables need ") == 0);
  CHECK(error.hint() == "free space on this file system, or choose another place");
  CHECK(disk.used_bytes() == before);
  CHECK(entries_in(dir / "out") == 1);
  CHECK(Dataset::open((dir / "out/x").string()).generation() == 1);
}

TEST_CASE("on a disk of any size tables are all there, or nothing is") {
  need_own_mounts();
  const TempDir dir;
  int failures = 0, successes = 0;
  for (int kib = 900; kib < 4200; kib += 100) {
    CAPTURE(kib);
    const Mount disk(dir / "out", fmt::format("size={}k", kib).c_str());
    write_sample(dir / "out/x", disk_sample());
    PropagationSession session;
    bool done = true;
    try {
      session.run(dir / "out/x", sign_options());
    } catch (const Error& error) {
      done = false;
      CHECK(error.code() == ErrorCode::kResource);
    }
    (done ? successes : failures) += 1;
    CHECK(entries_in(dir / "out") == 1);
    CHECK(session.ledger.used() == 0);
    CHECK(Dataset::open((dir / "out/x").string()).schema().nodes[0].features.size() ==
          (done ? 4u : 1u));
    CHECK(verify_dataset((dir / "out/x").string(), session.context).problems.empty());
  }
  CHECK(failures > 5);
  CHECK(successes > 5);
}
