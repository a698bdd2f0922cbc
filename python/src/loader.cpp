// A loader for sluice.Loader. The interpreter's lock is held to hand a mini-batch over, and not
// while one is waited for.
#include "arrays.h"
#include "batch.h"
#include "bindings.h"
#include "feed/feed.h"
#include "interrupts.h"
#include "registry.h"

#include <sluice/mutex.h>

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace sluice::python {
namespace {

using Keys = std::vector<std::pair<std::string, std::string>>;
using MaybeIds = std::optional<Ids>;

// A feed, used by one thread at a time; what Ctrl-C left behind may be one of them.
struct Held {
  Mutex mutex;
  std::unique_ptr<Feed> feed SLUICE_GUARDED_BY(mutex);

  Feed& open() SLUICE_REQUIRES(mutex) {
    if (feed) return *feed;
    throw Error(ErrorCode::kUsage, "the loader is closed", "make another one: sluice.Loader(...)");
  }
};
using HeldPtr = std::shared_ptr<Held>;

// What stays the same over a loader's life, for whoever asks without waiting.
struct PyLoader {
  explicit PyLoader(std::unique_ptr<Feed> feed)
      : ledger(feed->ledger()), batches(feed->num_batches()), held(std::make_shared<Held>()) {
    const MutexLock lock(held->mutex);
    held->feed = std::move(feed);
  }
  PyLoader(const PyLoader&) = delete;
  PyLoader& operator=(const PyLoader&) = delete;
  ~PyLoader() {
    const nb::gil_scoped_release release;
    close();
  }

  void close() {
    const MutexLock lock(held->mutex);
    held->feed.reset();
  }

  LedgerPtr ledger;
  std::uint64_t batches;
  HeldPtr held;
};

FeedOptions options_of(const Keys& keys) {
  FeedOptions options(registry());
  options.set(keys);
  return options;
}

Array ids_or_none(const MaybeIds& ids) {
  return ids ? to_ids(*ids) : Array();
}

FeedLists lists_of(const MaybeIds& nodes,
                   const MaybeIds& times,
                   const std::optional<std::pair<Ids, Ids>>& links,
                   const MaybeIds& link_ids,
                   const std::optional<Bytes>& truth,
                   const MaybeIds& graphs) {
  FeedLists lists;
  lists.nodes = ids_or_none(nodes);
  lists.graphs = ids_or_none(graphs);
  const auto check = [&](const char* what, std::size_t count, std::size_t wanted) {
    if (count == wanted) return;
    throw Error(ErrorCode::kUsage,
                fmt::format("{} has {} entries for {} of what is asked about", what, count, wanted),
                "give one each");
  };
  if (links) {
    check("the list of targets", links->second.size(), links->first.size());
    lists.links.sources = to_ids(links->first);
    lists.links.targets = to_ids(links->second);
    if (link_ids) check("link_ids", link_ids->size(), links->first.size());
    if (truth) check("truth", truth->size(), links->first.size());
    if (times) check("times", times->size(), links->first.size());
    lists.links.ids = ids_or_none(link_ids);
    if (truth) lists.links.truth = to_bytes(*truth);
    if (times) lists.links.times = to_times(*times);
  } else if (times) {
    check("times", times->size(), nodes ? nodes->size() : 0);
    lists.node_times = to_times(*times);
  }
  return lists;
}

nb::object next_batch(PyLoader& self) {
  PyBatch made{self.ledger, nullptr};
  for (bool there = false; !there; check_signals()) {
    const nb::gil_scoped_release release;
    const MutexLock lock(self.held->mutex);
    Loader& loader = self.held->open().loader();
    there = loader.wait(kLookAround);
    if (!there) continue;
    made.batch = loader.next();
    break;
  }
  if (!made.batch) return nb::none();
  return nb::cast(std::move(made));
}

nb::dict stage_times(const StageTimes& stage) {
  nb::dict one;
  one["busy"] = stage.busy;
  one["starved"] = stage.starved;
  one["blocked"] = stage.blocked;
  return one;
}

nb::dict stats_of(PyLoader& self) {
  LoaderStats stats;
  {
    const nb::gil_scoped_release release;
    const MutexLock lock(self.held->mutex);
    stats = self.held->open().loader().stats();
  }
  nb::dict all, cache, stages;
  all["batches"] = stats.batches;
  all["batches_xxh3"] = stats.batches_xxh3;
  all["bytes_read"] = stats.bytes_read;
  all["bytes_useful"] = stats.bytes_useful;
  all["bytes_written"] = stats.bytes_written;
  all["requests"] = stats.requests;
  all["windows"] = stats.windows;
  all["windows_swept"] = stats.windows_swept;
  all["windows_packed"] = stats.windows_packed;
  cache["wanted"] = stats.cache.wanted;
  cache["hits_window"] = stats.cache.hits_window;
  cache["hits_kept"] = stats.cache.hits_kept;
  cache["misses_first"] = stats.cache.misses_first;
  cache["misses_again"] = stats.cache.misses_again;
  all["cache"] = cache;
  for (const StageTimes& stage : stats.stages) stages[stage.name.c_str()] = stage_times(stage);
  all["stages"] = stages;
  all["plans"] = nb::cast(stats.plans);
  return all;
}

nb::dict places_of(PyLoader& self) {
  const MutexLock lock(self.held->mutex);
  const Feed& feed = self.held->open();
  const auto name = [](Placement where) { return where == Placement::kMemory ? "memory" : "disk"; };
  nb::dict all;
  all["features"] = name(feed.places().features.where);
  const Places places = feed.places();
  all["topology"] = topology_name(places.topology.where, places.relations);
  if (!places.relations.empty()) {
    nb::dict relations;
    for (const auto& [key, place] : places_by_key(feed.dataset().schema(), places.relations))
      relations[key.c_str()] = place;
    all["relations"] = relations;
  }
  all["engine"] = feed.engine();
  return all;
}

template <class Of>
auto of_feed(Of of) {
  return [of](PyLoader& self) {
    const MutexLock lock(self.held->mutex);
    return of(self.held->open());
  };
}

void start(PyLoader& self, const LoaderStart& where) {
  interruptible([held = self.held, where] {
    const MutexLock lock(held->mutex);
    held->open().start(where);
  });
}

PyLoader* beside(PyLoader& self, const Keys& keys, const FeedLists& lists) {
  auto made = interruptible([held = self.held, options = options_of(keys), lists] {
    const MutexLock lock(held->mutex);
    return held->open().beside(options, lists);
  });
  return new PyLoader(std::move(made));
}

}  // namespace

void add_loader(nb::module_& module) {
  nb::class_<PyLoader>(module, "Loader", "The mini-batches of epochs; sluice.Loader wraps it.")
      .def(
          "__init__",
          [](PyLoader* self,
             const std::string& path,
             const Keys& keys,
             const MaybeIds& nodes,
             const MaybeIds& times,
             const std::optional<std::pair<Ids, Ids>>& links,
             const MaybeIds& link_ids,
             const std::optional<Bytes>& truth,
             const MaybeIds& graphs) {
            auto made =
                interruptible([path,
                               options = options_of(keys),
                               lists = lists_of(nodes, times, links, link_ids, truth, graphs)] {
                  return Feed::open(path, options, lists);
                });
            new (self) PyLoader(std::move(made));
          },
          nb::arg("path"),
          nb::arg("keys"),
          nb::arg("nodes").none(),
          nb::arg("times").none(),
          nb::arg("links").none(),
          nb::arg("link_ids").none(),
          nb::arg("truth").none(),
          nb::arg("graphs").none())
      .def(
          "beside",
          [](PyLoader& self,
             const Keys& keys,
             const MaybeIds& nodes,
             const MaybeIds& times,
             const std::optional<std::pair<Ids, Ids>>& links,
             const MaybeIds& link_ids,
             const std::optional<Bytes>& truth,
             const MaybeIds& graphs) {
            return beside(self, keys, lists_of(nodes, times, links, link_ids, truth, graphs));
          },
          nb::arg("keys"),
          nb::arg("nodes").none(),
          nb::arg("times").none(),
          nb::arg("links").none(),
          nb::arg("link_ids").none(),
          nb::arg("truth").none(),
          nb::arg("graphs").none(),
          nb::rv_policy::take_ownership)
      .def(
          "start",
          [](PyLoader& self,
             std::uint64_t epoch,
             std::uint64_t first_batch,
             std::uint64_t batches_xxh3,
             bool next_follows) {
            start(self, {epoch, first_batch, batches_xxh3, next_follows, false});
          },
          nb::arg("epoch"),
          nb::arg("first_batch"),
          nb::arg("batches_xxh3"),
          nb::arg("next_follows"))
      .def("next", &next_batch)
      .def("stop",
           [](PyLoader& self) {
             const nb::gil_scoped_release release;
             const MutexLock lock(self.held->mutex);
             if (self.held->feed) self.held->feed->loader().stop();
           })
      .def("close",
           [](PyLoader& self) {
             const nb::gil_scoped_release release;
             self.close();
           })
      .def_prop_ro("num_batches", [](const PyLoader& self) { return self.batches; })
      .def("stats", &stats_of)
      .def("places", &places_of)
      .def("describe", of_feed([](const Feed& feed) { return feed.describe(); }))
      .def("warnings", of_feed([](const Feed& feed) { return feed.warnings(); }))
      .def("options", of_feed([](const Feed& feed) { return FeedOptions(feed.options()).text(); }))
      .def("memory_peak", [](const PyLoader& self) { return self.ledger->peak(); })
      .def("memory_used", [](const PyLoader& self) { return self.ledger->used(); });
}

}  // namespace sluice::python
