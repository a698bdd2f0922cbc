#include "samplers/listed_negatives.h"

#include "core/hash.h"
#include "core/json_text.h"
#include "storage/io/atomic_file.h"
#include "storage/io/file.h"

#include <sluice/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <system_error>

namespace sluice {
namespace {

using ListedJson = nlohmann::ordered_json;

constexpr const char* kNoteName = "negatives.json";
constexpr int kNoteVersion = 1;
constexpr std::uint64_t kMostNoteBytes = 1 << 16;
constexpr std::size_t kEventsHashedAtOnce = 1024;

// Of (source, destination, time, edge id), event by event.
std::string events_xxh3(const Links& events) {
  std::array<std::uint64_t, kEventsHashedAtOnce> numbers{}, sources{}, targets{}, ids{};
  std::array<std::int64_t, kEventsHashedAtOnce> times{};
  std::array<std::uint64_t, 4 * kEventsHashedAtOnce> rows{};
  Hasher hash;
  for (std::uint64_t first = 0; first < events.size(); first += kEventsHashedAtOnce) {
    const auto count = static_cast<std::size_t>(
        std::min<std::uint64_t>(kEventsHashedAtOnce, events.size() - first));
    std::iota(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(count), first);
    events
        .find({numbers.data(), count},
              {.sources = {sources.data(), count},
               .targets = {targets.data(), count},
               .ids = {ids.data(), count},
               .times = {times.data(), count}})
        .or_throw();
    for (std::size_t i = 0; i < count; ++i) {
      rows.at(4 * i) = sources.at(i);
      rows.at(4 * i + 1) = targets.at(i);
      rows.at(4 * i + 2) = static_cast<std::uint64_t>(times.at(i));
      rows.at(4 * i + 3) = ids.at(i);
    }
    hash.update(std::as_bytes(std::span(rows).first(4 * count)));
  }
  return hex64(hash.digest());
}

[[noreturn]] void refuse_listed(const std::filesystem::path& note,
                                const std::string& what,
                                const std::string& hint) {
  throw Error(
      ErrorCode::kData, "stored negatives: " + what, hint, Place{note.string(), -1, -1, -1});
}

ListedJson read_note(const std::filesystem::path& note) {
  const std::string text = read_text_file(note, kMostNoteBytes).or_throw();
  ListedJson json = ListedJson::parse(text, nullptr, false);
  const auto version = json.find("version");
  if (version == json.end() || *version != kNoteVersion)
    refuse_listed(note,
                  "this is not what sluice-train negatives writes",
                  "write the lists anew: sluice-train negatives");
  return json;
}

}  // namespace

void note_listed(const std::filesystem::path& folder,
                 const ListedNegatives& listed,
                 std::span<const ListedPart> parts) {
  ListedJson json = {{"version", kNoteVersion},
                     {"relation", listed.relation},
                     {"kind", listed.kind},
                     {"candidates", listed.candidates},
                     {"columns", listed.columns},
                     {"created_by", listed.created_by}};
  for (const ListedPart& part : parts) {
    ListedJson& of = json["parts"][to_string(part.part)];
    of = {{"events", part.events->size()}, {"events_xxh3", events_xxh3(*part.events)}};
    if (part.rows_xxh3) of["rows_xxh3"] = hex64(*part.rows_xxh3);
  }
  write_text_file(folder / kNoteName, json_text(json, 2) + "\n");
}

void check_listed(const std::filesystem::path& folder, std::span<const ListedPart> parts) {
  const std::filesystem::path note = folder / kNoteName;
  std::error_code missing;
  if (!std::filesystem::exists(note, missing)) return;
  const ListedJson json = read_note(note);
  for (const ListedPart& part : parts) {
    const std::string name = to_string(part.part);
    const auto said = [&](const char* key) {
      const ListedJson::json_pointer at(fmt::format("/parts/{}/{}", name, key));
      return json.contains(at) && json.at(at).is_string() ? json.at(at).get<std::string>()
                                                          : std::string();
    };
    if (said("events_xxh3") != events_xxh3(*part.events))
      refuse_listed(note,
                    fmt::format("they were written beside other {} events: another dataset, "
                                "another order of its nodes, or another split",
                                name),
                    "write them anew (sluice-train negatives), or set the split that they are of");
    if (part.rows_xxh3 && said("rows_xxh3") != hex64(*part.rows_xxh3))
      refuse_listed(
          note,
          fmt::format("{}.npy has other rows than were written with it", name),
          "write them anew (sluice-train negatives), or remove negatives.json if you mean it");
  }
}

}  // namespace sluice
