#include "budget/storage_section.h"

namespace sluice {

std::vector<Schema::Choice<std::string>> catalog_choices(const OptionsCatalog& catalog) {
  std::vector<Schema::Choice<std::string>> names;
  for (const OptionsCatalog::Entry& entry : catalog.list())
    names.push_back({entry.name, entry.name, entry.help});
  return names;
}

void StorageSection::describe(Schema& schema) {
  schema
      .choice("features",
              features,
              {{"auto",
                Keep::kAuto,
                "in memory when they take at most half of the budget, else on disk"},
               {"memory", Keep::kMemory, "loaded whole at the start"},
               {"disk", Keep::kDisk, "rows are read as mini-batches need them"}})
      .help("where feature tables are kept; never changes results");
  schema
      .choice("topology",
              topology,
              {{"auto",
                Keep::kAuto,
                "in memory when they take at most half of the budget, else those of the relations "
                "that fit and save the most reads; the rest on disk"},
               {"memory", Keep::kMemory, "loaded whole at the start"},
               {"disk", Keep::kDisk, "pages are read as sampling needs them"}})
      .help("where the graph's edges are kept; never changes results");
  schema.field("topology_in_memory", topology_in_memory)
      .help(
          "relations whose edges are in memory wherever `topology` puts the others': names, or "
          "SOURCE__NAME__TARGET; never changes results");
  schema
      .choice("io",
              io,
              {{"auto", IoChoice::kAuto, "io_uring where the system allows it, else pread"},
               {"io_uring", IoChoice::kIoUring, ""},
               {"pread", IoChoice::kPread, "a pool of reading threads"}})
      .help("how features on disk are read; never changes results");
  schema
      .choice(
          "plan",
          plan,
          {{"auto", PlanChoice::kAuto, "what costs the disk least, by its measured speed"},
           {"direct", PlanChoice::kDirect, "the pages that hold the rows"},
           {"sweep", PlanChoice::kSweep, "large requests that read through gaps"},
           {"repack",
            PlanChoice::kRepack,
            "one pass over the table an epoch; rows written once, in the order they are needed"}})
      .help("how rows on disk are read; never changes results");
  schema.choice("cache", cache, catalog_choices(*caches))
      .help("which rows stay in memory between mini-batches; never changes results");
  schema.field("window", window)
      .help(
          "sampled ahead, whose rows are read together; 0: as many as fit the budget. Never "
          "changes results")
      .unit("mini-batches")
      .range(0, 1e9);
  schema
      .choice(
          "verify",
          verify,
          {{"read", Verify::kRead, "every page against its checksum as it is read"},
           {"off", Verify::kOff, "not at all: saves the checksums' memory, 1/1024 of the table"}})
      .help("whether damage to the dataset is looked for");
}

std::shared_ptr<const CachePolicyKind> StorageSection::cache_kind() const {
  return caches->create({cache, nullptr});
}

}  // namespace sluice
