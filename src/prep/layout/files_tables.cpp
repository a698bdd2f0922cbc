// Which tables list the nodes of edges: those with a column that holds the edges' ids.
#include "prep/layout/files_guess.h"
#include "prep/table/column_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

namespace sluice {
namespace {

constexpr double kSome = 0.05;  // of the ids: less is chance

/// What a name is about: "user" of "user_id", "users" and "userId".
std::string thing_of(const std::string& name) {
  std::string thing = name;
  if (ends_in_id(thing)) {
    thing.resize(thing.size() - 2);
    while (!thing.empty() && (thing.back() == '_' || thing.back() == ' ' || thing.back() == '-' ||
                              thing.back() == '.'))
      thing.pop_back();
  }
  thing = lower_name(thing);
  for (const char* front : {"node_", "nodes_"})
    if (thing.starts_with(front)) thing.erase(0, std::string_view(front).size());
  if (thing.size() > 4 && thing.ends_with("ies")) {
    thing.replace(thing.size() - 3, 3, "y");
  } else if (thing.size() > 2 && thing.ends_with('s') && !thing.ends_with("ss")) {
    thing.pop_back();
  }
  return thing;
}

/// The same for "movie" and "movies", "city" and "cities".
std::string kin_of(const std::string& name) {
  std::string thing = thing_of(name);
  if (thing.ends_with("ie")) thing.replace(thing.size() - 2, 2, "y");
  return thing;
}

bool may_be_ids(const ColumnGlance& column) {
  return column.info.width == 1 && !column.missing && column.has_values() &&
         (column.integers || !column.numbers);
}

/// Whether ids tell whose they are: small numbers are in any table, names and scattered numbers
/// not.
bool tells(const ColumnGlance& column) {
  if (!column.integers) return true;
  const double range = column.high - column.low + 1;
  return range > 4.0 * static_cast<double>(column.different.size()) && column.high > 1000;
}

}  // namespace

/// The columns that may be the ids of its rows: those in which no value stands twice.
std::vector<std::size_t> FilesGuess::key_columns(const Table& table) const {
  constexpr std::size_t kMost = 8;
  const TableGlance& seen = table.guess.glance;
  std::vector<std::size_t> keys;
  for (std::size_t i = 0; i < seen.columns.size() && keys.size() < kMost; ++i) {
    const ColumnGlance& column = seen.columns[i];
    if (may_be_ids(column) && column.kinds() == seen.rows) keys.push_back(i);
  }
  // An id by its name before others, an index last.
  std::stable_sort(keys.begin(), keys.end(), [&](std::size_t a, std::size_t b) {
    const auto rank = [&](std::size_t at) {
      const std::string& name = seen.columns[at].info.name;
      return is_index_name(name, at) ? 2 : is_id_name(name, at) ? 0 : 1;
    };
    return rank(a) < rank(b);
  });
  return keys;
}

/// Whether any of the first values of a column are ids of edges, so that it is worth reading.
bool FilesGuess::meets_ids(const ColumnGlance& column,
                           const std::vector<const IdSample*>& samples) const {
  const auto known = [&](const std::string& id) {
    return std::any_of(samples.begin(), samples.end(), [&](const IdSample* sample) {
      return sample->ids.contains(id);
    });
  };
  return column.padded || std::any_of(column.texts.begin(), column.texts.end(), known) ||
         std::any_of(column.different.begin(), column.different.end(), [&](std::int64_t id) {
           return known(std::to_string(id));
         });
}

IdSample FilesGuess::sample_end(const EdgeGuess& guess, bool target) const {
  const auto at = target ? guess.target_at.front() : guess.source_at.front();
  std::string column = target ? guess.target : guess.source;
  if (column.empty()) column = guess.glance.columns[at].info.name;
  IdSample sample;
  const std::string file = guess.file + (guess.table.empty() ? "" : "#" + guess.table);
  sample_ids(files_, made_.spec.formats, {file, guess.format, column}, sample);
  return sample;
}

/// Whether a table that may hold edges by its places has ids in front that are those of another's
/// edges, so that it lists their nodes.
bool FilesGuess::lists_nodes_of_others(std::size_t at) {
  const Table& table = tables_[at];
  if (says_nodes(table.role.name)) return true;
  if (!table.guess.found() || table.guess.signs != EdgeSigns::kPlaces) return false;
  if (numbered(table)) return numbers_nodes_of_others(at);
  const auto keys = key_columns(table);
  const std::size_t front = table.guess.source_at.front();
  if (std::find(keys.begin(), keys.end(), front) == keys.end()) return false;
  const std::string& name = table.guess.glance.columns[front].info.name;
  const TableColumn key{table.role.file, table.guess.format, name};
  const auto holds = [&](const IdSample& sample) {
    return meets_ids(table.guess.glance.columns[front], {&sample}) &&
           shares_of(files_, made_.spec.formats, key, {&sample}).front().nearly_all();
  };
  if (says_edges(table.role.name) && !is_id_name(name, front)) return false;
  // A second id that other tables have too makes it a table of edges.
  const std::string& second = table.guess.glance.columns[front + 1].info.name;
  for (std::size_t other = 0; ends_in_id(second) && other < tables_.size(); ++other)
    for (const ColumnGlance& column : tables_[other].guess.glance.columns)
      if (other != at && column.info.name == second) return false;
  // A tree of children and parents is edges, as both columns hold the same ids; of small numbers
  // that may be chance.
  const bool both_ends = !is_id_name(name) && holds(sample_end(table.guess, true));
  if (both_ends && tells(table.guess.glance.columns[front])) return false;
  for (std::size_t other = 0; other < tables_.size(); ++other) {
    const EdgeGuess& edges = tables_[other].guess;
    if (other == at || !edges.found() || !edges.table.empty()) continue;
    const IdSample source = sample_end(edges, false), target = sample_end(edges, true);
    if (!holds(source) && !holds(target)) continue;
    const bool second_meets = meets_ids(table.guess.glance.columns[front + 1], {&source, &target});
    if (!second_meets) return true;
    // The other one may list the nodes of this one just as well.
    const auto back = key_columns(tables_[other]);
    const bool both = edges.signs == EdgeSigns::kPlaces &&
                      std::find(back.begin(), back.end(), edges.source_at.front()) != back.end() &&
                      !is_id_name(name, front);
    if (both) continue;
    if (both_ends) unclear_.insert(table.role.file);
    return true;
  }
  return false;
}

/// Whether its edges, by their places, stand behind a column that is called an id and counts up.
bool FilesGuess::numbered(const Table& table) {
  return table.guess.found() && table.guess.signs == EdgeSigns::kPlaces &&
         table.guess.source_at.front() == 1 && is_id_name(table.guess.glance.columns[0].info.name);
}

/// Whether these are the ids of the nodes of another's edges, "id, age, group", and no numbers of
/// edges, "id, user, item".
bool FilesGuess::numbers_nodes_of_others(std::size_t at) {
  const Table& table = tables_[at];
  const auto& columns = table.guess.glance.columns;
  if (says_edges(table.role.name) ||
      (ends_in_id(columns[1].info.name) && ends_in_id(columns[2].info.name)))
    return false;
  const TableColumn key{table.role.file, table.guess.format, columns[0].info.name};
  for (std::size_t other = 0; other < tables_.size(); ++other) {
    const EdgeGuess& edges = tables_[other].guess;
    if (other == at || !edges.found() || !edges.table.empty() || numbered(tables_[other])) continue;
    const IdSample source = sample_end(edges, false), target = sample_end(edges, true);
    const auto shares = shares_of(files_, made_.spec.formats, key, {&source, &target});
    if (!shares[0].nearly_all() && !shares[1].nearly_all()) continue;
    IdSample all = source;
    all.ids.insert(target.ids.begin(), target.ids.end());
    // Many more rows than nodes, with ids of nodes in them, may be edges as well.
    const bool more = table.guess.glance.rows > 2 * all.ids.size();
    if (more && meets_ids(columns[1], {&all}) && meets_ids(columns[2], {&all}))
      unclear_.insert(table.role.file);
    return true;
  }
  return false;
}

void FilesGuess::find_ends() {
  if (tables_.empty()) return;
  for (std::size_t i = 0; i < edges_.size(); ++i) {
    const EdgeGuess& guess = edges_[i].guess;
    if (!guess.table.empty()) continue;
    for (const bool target : {false, true}) {
      const auto at = target ? guess.target_at.front() : guess.source_at.front();
      EdgeEnd& end = ends_.emplace_back();
      end.edges = i;
      end.target = target;
      end.column = guess.glance.columns[at].info.name;
      end.sample = sample_end(guess, target);
      end.told = tells(guess.glance.columns[at]);
    }
  }
}

/// For each table, the column that holds the most ids of edges.
void FilesGuess::find_keys() {
  std::vector<const IdSample*> samples;
  samples.reserve(ends_.size());
  for (const EdgeEnd& end : ends_) samples.push_back(&end.sample);
  if (samples.empty()) return;
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    if (unclear_.contains(tables_[i].role.file)) continue;
    std::optional<KeyColumn> best;
    double most = 0;
    for (const std::size_t column : key_columns(tables_[i])) {
      if (!meets_ids(tables_[i].guess.glance.columns[column], samples)) continue;
      const TableColumn of{tables_[i].role.file,
                           tables_[i].guess.format,
                           tables_[i].guess.glance.columns[column].info.name};
      KeyColumn key{i, column, shares_of(files_, made_.spec.formats, of, samples)};
      double sum = 0;
      for (const IdShare& share : key.shares) sum += share.once ? share.share() : 0;
      if (sum <= most) continue;
      most = sum;
      best = std::move(key);
    }
    if (best) keys_.push_back(*std::move(best));
  }
}

/// Whether names say that a table is about the nodes at an end.
bool FilesGuess::is_akin(const KeyColumn& key, const EdgeEnd& end) const {
  const Table& table = tables_[key.table];
  const Edges& edges = edges_[end.edges];
  std::set<std::string> things{kin_of(end.column)};
  if (edges.typed) things.insert(kin_of(end.target ? edges.target : edges.source));
  const std::string& column = table.guess.glance.columns[key.column].info.name;
  return (!is_id_name(column) && things.contains(kin_of(column))) ||
         things.contains(kin_of(stem_of(table.role.name)));
}

/// The tables that may list the nodes at an end; where names tell, those that they say.
std::vector<std::size_t> FilesGuess::readings_of(std::size_t end) const {
  std::vector<std::size_t> all, akin;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (!keys_[i].shares[end].nearly_all()) continue;
    const bool kin = is_akin(keys_[i], ends_[end]);
    if (kin) akin.push_back(i);
    // Small numbers are in any column that numbers something: it has to look like an id.
    const Table& table = tables_[keys_[i].table];
    const auto& columns = table.guess.glance.columns;
    const bool is_id = is_id_name(columns[keys_[i].column].info.name, keys_[i].column) ||
                       (keys_[i].column == 0 && columns.size() > 1);
    if (kin || ends_[end].told || is_id) all.push_back(i);
  }
  return akin.empty() ? all : akin;
}

void FilesGuess::claim_ends() {
  std::vector<std::size_t> unclear, among;
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    const auto keys = readings_of(i);
    if (keys.empty()) continue;
    if (keys.size() == 1 || ends_[i].told) {
      ends_[i].key = keys.front();
      continue;
    }
    unclear.push_back(i);
    among.insert(among.end(), keys.begin(), keys.end());
  }
  // Where one end of an edge is unclear, so is the other.
  for (std::size_t i = 0; i + 1 < ends_.size(); i += 2) {
    const auto is_unclear = [&](std::size_t end) {
      return std::find(unclear.begin(), unclear.end(), end) != unclear.end();
    };
    if (is_unclear(i) || is_unclear(i + 1)) ends_[i].key = ends_[i + 1].key = std::nullopt;
    // An end whose ids are partly in the other's table: of the same type, or of another?
    for (const std::size_t end : {i, i + 1}) {
      const std::size_t other = end == i ? i + 1 : i;
      if (!ends_[end].key || ends_[other].key) continue;
      const IdShare& share = keys_[*ends_[end].key].shares[other];
      if (share.share() >= kSome && !edges_[ends_[end].edges].typed) ends_[end].key.reset();
    }
  }
  std::sort(among.begin(), among.end());
  among.erase(std::unique(among.begin(), among.end()), among.end());
  if (!unclear.empty()) say_readings(unclear, among);
}

std::string FilesGuess::key_text(const KeyColumn& key) const {
  const Table& table = tables_[key.table];
  const std::string& column = table.guess.glance.columns[key.column].info.name;
  return fmt::format("{} ({})", table.role.file, column.empty() ? "the first column" : column);
}

void FilesGuess::say_readings(const std::vector<std::size_t>& ends,
                              const std::vector<std::size_t>& keys) {
  std::vector<std::string> columns, tables;
  for (const std::size_t end : ends)
    columns.push_back(
        fmt::format("{} of {}", ends_[end].column, edges_[ends_[end].edges].guess.file));
  for (const std::size_t key : keys) {
    tables.push_back(key_text(keys_[key]));
    said_.insert(tables_[keys_[key].table].role.file);
    made_.comments.head.push_back(
        fmt::format("Reading: the nodes are those of {}, so: ids = ..., id_list.file = \"{}\", "
                    "id_list.column = \"{}\" in a [[nodes]].",
                    key_text(keys_[key]),
                    tables_[keys_[key].table].role.file,
                    tables_[keys_[key].table].guess.glance.columns[keys_[key].column].info.name));
  }
  made_.warn(
      fmt::format("{}: the ids of {} are in each of them, as small numbers are in any table, "
                  "and no names tell which is meant: neither is taken",
                  fmt::join(tables, ", "),
                  fmt::join(columns, ", ")));
}

/// Types of the ends: one where all are of one table or of none, else after tables and columns.
void FilesGuess::name_types() {
  std::set<std::size_t> keys;
  bool unlisted = false;
  for (const EdgeEnd& end : ends_) {
    if (edges_[end.edges].typed) continue;
    if (end.key) keys.insert(*end.key);
    unlisted = unlisted || !end.key;
  }
  const bool several = keys.size() > 1 || (keys.size() == 1 && unlisted);
  std::set<std::string> taken;
  std::map<std::size_t, std::string> of_key;
  std::map<std::string, std::string> of_column;
  const auto fresh = [&](std::string name) {
    while (!taken.insert(name).second) name += "_2";
    return name;
  };
  for (const std::size_t key : keys)
    of_key[key] =
        several ? fresh(plain_name(stem_of(tables_[keys_[key].table].role.name))) : "node";
  for (const EdgeEnd& end : ends_) {
    Edges& edges = edges_[end.edges];
    std::string& type = end.target ? edges.target : edges.source;
    if (!edges.typed && end.key) type = of_key[*end.key];
    if (!edges.typed && !end.key && several) {
      const std::string thing = thing_of(end.column);
      auto found = of_column.find(thing);
      if (found == of_column.end())
        found = of_column.emplace(thing, fresh(plain_name(thing.empty() ? "other" : thing))).first;
      type = found->second;
    }
    if (!end.key) continue;
    const KeyColumn& key = keys_[*end.key];
    NodeTable& nodes =
        node_tables_.emplace(type, NodeTable{key.table, key.column, {}, true, "", {}})
            .first->second;
    nodes.whole = nodes.whole && end.sample.whole;
    if (nodes.edges.find(edges.guess.file) == std::string::npos)
      nodes.edges += (nodes.edges.empty() ? "" : ", ") + edges.guess.file;
  }
  share_all_ends();
  // Tables beside them with the same ids, which could be no others.
  for (std::size_t i = 0; i < keys_.size(); ++i)
    for (auto& [type, nodes] : node_tables_)
      for (std::size_t end = 0; end < ends_.size(); ++end)
        if (ends_[end].told && ends_[end].key && keys_[*ends_[end].key].table == nodes.table &&
            keys_[i].table != nodes.table && keys_[i].shares[end].nearly_all() &&
            std::find(nodes.others.begin(), nodes.others.end(), i) == nodes.others.end())
          nodes.others.push_back(i);
  if (several && edges_.size() == 1 && !edges_[0].typed) {
    const std::string stem = plain_name(stem_of(edges_[0].name));
    if (lower_name(stem) != "edges") edges_[0].relation = stem;
  }
}

/// How much of all ids of a type its table holds.
void FilesGuess::share_all_ends() {
  for (auto& [type, nodes] : node_tables_) {
    IdSample all;
    for (const EdgeEnd& end : ends_) {
      const Edges& edges = edges_[end.edges];
      if (!end.key || (end.target ? edges.target : edges.source) != type) continue;
      all.ids.insert(end.sample.ids.begin(), end.sample.ids.end());
    }
    const Table& table = tables_[nodes.table];
    const TableColumn column{
        table.role.file, table.guess.format, table.guess.glance.columns[nodes.column].info.name};
    nodes.share = shares_of(files_, made_.spec.formats, column, {&all}).front();
  }
}

/// Tables that are neither edges nor taken as nodes, and how near they came.
void FilesGuess::say_unclaimed() {
  std::vector<std::string> unused;
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    const auto taken = std::any_of(node_tables_.begin(), node_tables_.end(), [&](const auto& node) {
      const NodeTable& nodes = node.second;
      return nodes.table == i ||
             std::any_of(nodes.others.begin(), nodes.others.end(), [&](std::size_t key) {
               return keys_[key].table == i;
             });
    });
    if (taken || said_.contains(tables_[i].role.file)) continue;
    if (unclear_.contains(tables_[i].role.file)) {
      made_.warn(
          fmt::format("{}: it may list nodes, by the ids in its first column, or hold edges "
                      "between them: name its columns in a [[nodes]] or an [[edges]]",
                      tables_[i].role.file));
      continue;
    }
    const auto key = std::find_if(keys_.begin(), keys_.end(), [&](const KeyColumn& candidate) {
      return candidate.table == i;
    });
    const Table& table = tables_[i];
    if (key == keys_.end()) {
      if (table.guess.found() && !says_nodes(table.role.name)) {
        made_.warn(fmt::format("{}: it may hold edges, but its name says nothing of them",
                               table.role.file));
      } else {
        unused.push_back(table.role.file);
      }
      continue;
    }
    const auto best = std::max_element(
        key->shares.begin(), key->shares.end(), [](const IdShare& a, const IdShare& b) {
          return a.share() < b.share();
        });
    const EdgeEnd& end = ends_[static_cast<std::size_t>(best - key->shares.begin())];
    const std::string& column = table.guess.glance.columns[key->column].info.name;
    made_.warn(fmt::format(
        "{0}: its column {1} holds {2} ids ({3:.0f} %) of the column {4} of {5}, not of "
        "all ends alike; if it lists nodes, say so: ids = \"{6}\", id_list = {{ file = "
        "\"{0}\", column = \"{1}\" }}, unknown_ids = \"skip\" (or \"create\") in a [[nodes]]",
        table.role.file,
        column,
        best->text(),
        100 * best->share(),
        end.column,
        edges_[end.edges].guess.file,
        table.guess.glance.columns[key->column].integers ? "integer" : "string"));
  }
  if (!unused.empty())
    made_.warn(fmt::format("{}: nothing tells what {} for",
                           fmt::join(unused, ", "),
                           unused.size() == 1 ? "it is" : "they are"));
}

}  // namespace sluice
