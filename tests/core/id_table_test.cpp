#include <sluice/random.h>
#include <sluice/samplers/id_table.h>

#include <doctest/doctest.h>

#include <map>
#include <vector>

using namespace sluice;

namespace {

// A list of ids with an IdTable over it.
struct Listed {
  explicit Listed(std::size_t room) : slots(IdTable::slots_for(room)), table(slots) {}

  std::size_t insert(std::uint64_t id) {
    return table.insert(
        IdTable::hash_of(id),
        [&](std::size_t row) { return ids[row] == id; },
        [&] {
          ids.push_back(id);
          return ids.size() - 1;
        });
  }
  std::size_t find(std::uint64_t id) const { return table.find_id(id, ids); }
  void shrink(std::size_t left) {
    table.shrink(ids.size(), left, IdTable::hash_at(ids));
    ids.resize(left);
  }

  std::vector<std::uint32_t> slots;
  IdTable table;
  std::vector<std::uint64_t> ids;
};

}  // namespace

TEST_CASE("id table: rows are those of a map, through rows that are taken out again") {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    const RandomKey key = RandomKey(seed).with("id table");
    const std::size_t room = 1 + key.below(3000, 0);
    const std::uint64_t spread = seed % 2 == 0 ? 2 * room : ~std::uint64_t{0};
    Listed listed(room);
    std::map<std::uint64_t, std::size_t> reference;
    for (std::uint64_t step = 1; step < 6 * room; ++step) {
      const std::uint64_t id = key.below(spread, step);
      const auto known = reference.find(id);
      CHECK(listed.find(id) == (known == reference.end() ? IdTable::kNoRow : known->second));
      if (listed.ids.size() < room) {
        const std::size_t row = reference.emplace(id, reference.size()).first->second;
        CHECK(listed.insert(id) == row);
        const std::size_t guess = listed.table.guess(IdTable::hash_of(id));
        CHECK((guess == IdTable::kNoRow || guess < listed.ids.size()));
      }
      if (key.with("shrink").below(room, step) != 0) continue;
      const std::size_t left = step % 3 == 0 ? 0 : key.below(listed.ids.size() + 1, step);
      listed.shrink(left);
      std::erase_if(reference, [&](const auto& entry) { return entry.second >= left; });
    }
  }
}

TEST_CASE("id table: filled at once it finds what it found before") {
  const RandomKey key = RandomKey(5).with("id table");
  Listed one(1000);
  for (std::uint64_t i = 0; i < 1000; ++i) one.insert(key.below(3000, i));
  Listed other(4000);
  other.ids = one.ids;
  other.table.fill(other.ids.size(), IdTable::hash_at(other.ids));
  for (std::uint64_t id = 0; id < 3000; ++id) CHECK(other.find(id) == one.find(id));
}

TEST_CASE("id table: without slots there is nothing to take out") {
  IdTable table;
  CHECK(table.num_slots() == 0);
  table.shrink(3, 0, [](std::size_t row) { return row; });
}
