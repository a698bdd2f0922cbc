// The split of a budget, by numbers alone.
#include "budget/memory_plan.h"

#include "budget/memory_ratios.h"

#include <sluice/units.h>

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

using namespace sluice;

namespace {

// Training with a batch of 4 MiB that are 1 of blocks and 3 of features, evaluation with one of 8.
MemoryNeeds needs_of(MemoryPhases phases) {
  MemoryNeeds needs;
  needs.phases = phases;
  needs.loaded = {{"topology", 40 * kMiB, "loaded"}};
  needs.resident = 6 * kMiB;
  needs.weights = 2 * kMiB;
  needs.training.batches = needs.evaluation.batches = phases.probed();
  needs.training.block_bytes = 1 * kMiB;
  needs.training.feature_bytes = 3 * kMiB;
  needs.training.smallest_bytes = 4 * kMiB - 4 * kMiB / 20;
  needs.training.window_bytes = 4 * kMiB;
  needs.training.group = 2;
  needs.training.sampled_bytes = 1 * kMiB;
  needs.training.workspace_bytes = 4 * kMiB;
  needs.training.sampling_bytes = 20 * kMiB;
  needs.training.kept_bytes = 1 * kMiB;
  needs.evaluation = needs.training;
  needs.evaluation.block_bytes = 2 * kMiB;
  needs.evaluation.feature_bytes = 6 * kMiB;
  needs.evaluation.smallest_bytes = 8 * kMiB - 8 * kMiB / 20;
  needs.evaluation.window_bytes = 8 * kMiB;
  needs.step = needs.tried = 12 * kMiB;
  needs.copied = needs.resident;
  return needs;
}

std::uint64_t line(const MemoryPlan& plan, const std::string& name) {
  for (const MemoryLine& each : plan.lines) {
    if (each.name == name) return each.bytes;
  }
  return 0;
}

// What a run may need, large and small, some of it nothing.
MemoryNeeds any_needs(std::mt19937_64& draw) {
  const auto up_to = [&](std::uint64_t most) { return draw() % 3 == 0 ? 0 : draw() % (most + 1); };
  MemoryNeeds needs;
  needs.phases = draw() % 2 == 0 ? MemoryPhases() : MemoryPhases::taking_turns();
  needs.loaded = {{"features", up_to(64 * kMiB), "loaded"}, {"topology", up_to(kMiB), "loaded"}};
  needs.resident = up_to(64 * kMiB);
  needs.weights = needs.resident / 3;
  for (LoaderProbe* probe : {&needs.training, &needs.evaluation}) {
    probe->batches = draw() % 20;
    probe->block_bytes = up_to(16 * kMiB);
    probe->feature_bytes = up_to(32 * kMiB);
    probe->smallest_bytes = (probe->block_bytes + probe->feature_bytes) / (1 + draw() % 2);
    probe->window_bytes = up_to(32 * kMiB);
    probe->group = 1 + draw() % 4;
    probe->sampled_bytes = up_to(8 * kMiB);
    probe->workspace_bytes = up_to(16 * kMiB);
    probe->sampling_bytes = up_to(128 * kMiB);
    probe->kept_bytes = up_to(4 * kMiB);
  }
  needs.step = needs.tried = up_to(64 * kMiB);
  needs.copied = draw() % 2 * needs.resident;
  if (draw() % 2 == 0) {  // learned rows on disk
    needs.learned.fixed = up_to(16 * kMiB);
    needs.learned.least = 1 + up_to(16 * kMiB);
    needs.learned.most = needs.learned.least + up_to(256 * kMiB);
    needs.learned.ahead = needs.phases.queues();
  } else if (draw() % 2 == 0) {  // by partitions
    needs.learned.fixed = up_to(16 * kMiB);
    needs.learned.slots = up_to(256 * kMiB);
    needs.learned.buckets = up_to(32 * kMiB);
  }
  return needs;
}

}  // namespace

TEST_CASE("no phase takes more than the budget, and a larger one leaves windows no less") {
  std::mt19937_64 draw(1);
  for (int i = 0; i < 2000; ++i) {
    CAPTURE(i);
    const MemoryNeeds needs = any_needs(draw);
    const std::uint64_t least = plan_memory(needs, 0).least;
    CHECK(least % kMiB == 0);
    CHECK(plan_memory(needs, least).fits());
    CHECK_FALSE(plan_memory(needs, least - 1).fits());
    std::uint64_t windows = 0, queue = 0;
    for (std::uint64_t budget = least; budget < least + 200 * kMiB;
         budget += 1 + draw() % kGiB / 32) {
      const MemoryPlan plan = plan_memory(needs, budget);
      CHECK(plan.least == least);
      const std::vector<MemoryPhase>& phases = plan.phases;
      for (const MemoryPhase& phase : phases) CHECK(plan.bytes(phase) <= budget);
      CHECK(plan.bytes(phases.back()) == budget);  // windows get the rest
      CHECK(plan.loader.window_bytes >= needs.training.window_bytes);
      CHECK(plan.loader.window_bytes >= needs.evaluation.window_bytes);
      CHECK(plan.learned_cache >= needs.learned.least);
      CHECK(plan.learned_cache <= needs.learned.most);
      CHECK(line(plan, "embedding cache") == plan.learned_cache);
      if (plan.learned_window == 1) CHECK(line(plan, "mini-batches ahead") == 0);
      // A whole mini-batch that can wait now takes its room from windows, once.
      if (line(plan, "queue") > 0 && queue == 0) windows = 0;
      CHECK(plan.loader.window_bytes >= windows);
      CHECK(line(plan, "queue") >= queue);
      windows = plan.loader.window_bytes;
      queue = line(plan, "queue");
    }
  }
}

TEST_CASE(
    "partitions of rows and edge buckets are lines of the plan, and nothing more is a cache") {
  MemoryNeeds needs = needs_of({});
  const std::uint64_t without = plan_memory(needs, 0).least;
  needs.learned.slots = 100 * kMiB;
  needs.learned.buckets = 24 * kMiB;
  const std::uint64_t least = plan_memory(needs, 0).least;
  CHECK(least == without + 124 * kMiB);
  const MemoryPlan plan = plan_memory(needs, least + 50 * kMiB);
  CHECK(line(plan, "embedding partitions") == 100 * kMiB);
  CHECK(line(plan, "edge buckets") == 24 * kMiB);
  CHECK(line(plan, "embedding cache") == 0);
}

TEST_CASE("learned rows share what they get between their cache and mini-batches ahead") {
  MemoryNeeds needs = needs_of({});
  for (LoaderProbe* probe : {&needs.training, &needs.evaluation}) {
    probe->block_bytes = kMiB;
    probe->feature_bytes = 0;
  }
  needs.learned.least = 20 * kMiB;
  needs.learned.most = 2 * kGiB;
  needs.learned.ahead = true;
  const std::uint64_t least = plan_memory(needs, 0).least;
  const std::uint64_t batch = memory_ratios::raised(kMiB);
  CHECK(plan_memory(needs, least).learned_window == 1);
  std::uint64_t window = 1;
  for (std::uint64_t more = 0; more < kGiB; more += 8 * kMiB) {
    CAPTURE(more);
    const MemoryPlan plan = plan_memory(needs, least + more);
    CHECK(plan.learned_window >= window);
    window = plan.learned_window;
    const std::uint64_t ahead = line(plan, "mini-batches ahead");
    CHECK(ahead == (2 * window - 2) * batch);
    // The cache holds two windows of what mini-batches asked for: 16 MiB for two of them.
    CHECK(plan.learned_cache >= window * 16 * kMiB);
  }
  CHECK(window >= 30);
  // Small ones may be more than the cache holds, if all rows of each were others'.
  MemoryNeeds small = needs;
  small.training.block_bytes = small.evaluation.block_bytes = 16 * kKiB;
  const MemoryPlan plan = plan_memory(small, least + kGiB / 2);
  CHECK(plan.learned_window > plan.learned_cache / (16 * kMiB) + 1);
  CHECK(line(plan, "mini-batches ahead") < 32 * kMiB);
  // With all rows in memory nothing has to be read together; on a GPU mini-batches are few.
  CHECK(plan_memory(needs, least + 4 * kGiB).learned_window == 1);
  CHECK(plan_memory(needs, least + 4 * kGiB).learned_cache == needs.learned.most);
  needs.training.transfer_bytes = kMiB;
  CHECK(plan_memory(needs, least + kGiB).learned_window == 1);
}

TEST_CASE("more of anything needs no smaller budget") {
  std::mt19937_64 draw(2);
  for (int i = 0; i < 2000; ++i) {
    CAPTURE(i);
    const MemoryNeeds needs = any_needs(draw);
    const std::uint64_t least = plan_memory(needs, 0).least;
    for (auto more : {&MemoryNeeds::resident,
                      &MemoryNeeds::weights,
                      &MemoryNeeds::step,
                      &MemoryNeeds::tried,
                      &MemoryNeeds::copied,
                      &MemoryNeeds::trace}) {
      MemoryNeeds larger = needs;
      larger.*more += kMiB;
      CHECK(plan_memory(larger, 0).least >= least);
    }
    for (auto more : {&LoaderProbe::window_bytes,
                      &LoaderProbe::sampling_bytes,
                      &LoaderProbe::workspace_bytes,
                      &LoaderProbe::kept_bytes}) {
      MemoryNeeds larger = needs;
      larger.training.*more += kMiB;
      CHECK(plan_memory(larger, 0).least >= least);
    }
  }
}

TEST_CASE("side by side sampling and steps have memory of their own, and mini-batches may wait") {
  const MemoryNeeds needs = needs_of({});
  const MemoryPlan plan = plan_memory(needs, 256 * kMiB);
  CHECK(plan.table() ==
        "  topology                   40 MiB  loaded\n"
        "  sampler workspace          10 MiB  all data threads\n"
        "  sampled ahead             2.5 MiB  mini-batches sampled at once\n"
        "  model and optimizer         6 MiB  weights and optimiser state\n"
        "  best weights                2 MiB  a copy of the weights\n"
        "  tensors of a step          15 MiB  12 MiB in a trial step, + 25 %\n"
        "  mini-batches               20 MiB  in step, being assembled\n"
        "  other                       2 MiB  file buffers, predictions\n"
        "  queue                   24.75 MiB  mini-batches waiting\n"
        "  windows                133.75 MiB  the rest\n"
        "  total                     256 MiB  of 256 MiB");
  CHECK(plan.least == 108 * kMiB);
  CHECK(plan.loader.window_bytes == line(plan, "windows"));
  // The queue counts features alone.
  CHECK(plan.loader.queue_bytes == line(plan, "queue") / 4 * 3);
  CHECK_FALSE(plan.loader.in_turns);
  const MemoryPlan tight = plan_memory(needs, plan.least);
  CHECK(tight.loader.queue_bytes == 0);  // none waits where there is no room for a whole one
  CHECK(tight.loader.window_bytes == 10 * kMiB + kMiB / 2);
}

TEST_CASE("in turns sampling has the memory of steps and windows") {
  MemoryNeeds needs = needs_of(MemoryPhases::taking_turns());
  const MemoryPlan plan = plan_memory(needs, 100 * kMiB);
  CHECK(plan.loader.in_turns);
  CHECK(plan.loader.queue_bytes == 0);
  // Mini-batches differ by 5 %: that is the margin.
  CHECK(
      plan.table() ==
      "                            sampling         steps\n"
      "  topology                    40 MiB        40 MiB  loaded\n"
      "  sampled before steps      1.05 MiB      1.05 MiB  buffers and checksums of what an epoch "
      "keeps on disk\n"
      "  sampling                    21 MiB             -  workspaces, mini-batches, lists\n"
      "  model and optimizer          6 MiB         6 MiB  weights and optimiser state\n"
      "  best weights                 2 MiB         2 MiB  a copy of the weights\n"
      "  tensors of a step                -      12.6 MiB  12 MiB in a trial step, + 5 %\n"
      "  mini-batch                       -       8.4 MiB  in step\n"
      "  other                        2 MiB         2 MiB  file buffers, predictions\n"
      "  block sizes                      -       1.6 MiB  blocks may be larger than asked for\n"
      "  windows                          -     26.35 MiB  the rest\n"
      "  total                    72.05 MiB       100 MiB  of 100 MiB");
  CHECK(plan.least == 81 * kMiB);
  // Where sampling takes more than steps and windows do, windows get that too.
  needs.training.sampling_bytes = 50 * kMiB;
  const MemoryPlan more = plan_memory(needs, plan_memory(needs, 0).least);
  CHECK(more.budget == 104 * kMiB);
  CHECK(line(more, "windows") > 31 * kMiB);
  // What sizes of blocks take is reckoned with where there is room, and refuses nothing.
  CHECK(line(more, "block sizes") < kMiB);
}

TEST_CASE(
    "a budget that is too small: the table has the least of windows, and what measuring takes") {
  MemoryNeeds needs = needs_of({});
  CHECK(plan_memory(needs, 107 * kMiB).table().find("10 MiB  the least\n") != std::string::npos);
  CHECK(line(plan_memory(needs, 0), "while measured") == 0);
  needs.copied = needs.resident = 80 * kMiB;
  const MemoryPlan plan = plan_memory(needs, 107 * kMiB);
  CHECK(line(plan, "while measured") > 0);
  CHECK(plan.bytes(plan.phases.back()) == 222 * kMiB);  // loaded, twice 80, a step, a batch
  CHECK(plan.least == 222 * kMiB);
}

TEST_CASE(
    "on a GPU features are in the slabs, nothing waits, and its memory has a plan of its own") {
  MemoryNeeds needs = needs_of({});
  needs.training.transfer_bytes = 4 * kMiB;
  needs.evaluation.transfer_bytes = 8 * kMiB;
  needs.device_tensors = 40 * kMiB;
  const MemoryPlan plan = plan_memory(needs, 256 * kMiB, 100 * kMiB);
  CHECK(line(plan, "mini-batches") == 5 * kMiB);
  CHECK(line(plan, "transfer slabs") == 30 * kMiB);
  CHECK(line(plan, "queue") == 0);
  CHECK(plan.loader.transfer_bytes == 10 * kMiB);
  CHECK(plan.device_in_flight == 30 * kMiB);
  CHECK(plan.device.least == 80 * kMiB);
  CHECK(plan.device.table() ==
        "  mini-batches in flight        30 MiB  copied, ready, in step\n"
        "  tensors                       50 MiB  40 MiB in a trial step, + 25 %\n"
        "  total                         80 MiB  of 100 MiB");
}

TEST_CASE("learned rows that are kept on a GPU are a line of its memory, without a margin") {
  MemoryNeeds needs = needs_of({});
  needs.training.transfer_bytes = needs.evaluation.transfer_bytes = 8 * kMiB;
  needs.device_tensors = 70 * kMiB;  // the rows among them
  needs.learned.on_device = 30 * kMiB;
  const MemoryPlan plan = plan_memory(needs, 256 * kMiB, 100 * kMiB);
  CHECK(plan.device.least == 110 * kMiB);
  CHECK_FALSE(plan.device.fits());
  CHECK(plan.device.table() ==
        "  mini-batches in flight        30 MiB  copied, ready, in step\n"
        "  learned rows                  30 MiB  with what their optimizer keeps\n"
        "  tensors                       50 MiB  40 MiB in a trial step, + 25 %\n"
        "  total                        110 MiB  of 100 MiB");
}
