// RowWindows: mini-batches that are announced one by one, brought to an embedding table in windows
// of many.
//
// A window is the rows of mini-batches that follow each other, as many as half of the table's cache
// holds. Its rows come in one sweep over the disk while the window before it is in use, and the
// rows of the one before that leave in the same sweep: random reads and writes of each mini-batch
// become few and large. What two windows share stays where it is.
//
//   announced:  [ in use | on its way | collected ... ]
//
// What is announced decides which rows are in memory when, never what they are. Used by one thread.
#pragma once

#include <sluice/embedding_table.h>
#include <sluice/memory.h>

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace sluice {

class RowWindows {
 public:
  struct Limits {
    std::uint64_t rows = 1;     ///< of a window; a single mini-batch may have more
    std::uint64_t batches = 1;  ///< of a window, at the most
  };

  /// Memory for an id of a mini-batch, at the most.
  static constexpr std::uint64_t kBytesOfId = 4 * sizeof(std::uint64_t);
  /// Memory for a mark a row of the table.
  static std::uint64_t bytes_of_marks(std::uint64_t table_rows);
  /// Limits::rows of a table whose cache has so many slots: two windows fit.
  static std::uint64_t rows_of(std::uint64_t slots, std::uint64_t table_rows);

  /// @param table by windows; as many rows as it has now may be announced. @param ledger may be
  /// null; both outlive this. Throws kResource.
  RowWindows(EmbeddingTable& table, Limits limits, MemoryLedger* ledger);

  /// Announces the rows of a mini-batch, in any order, repeats allowed. Throws what
  /// EmbeddingTable::expect() throws, and kResource.
  void expect(std::span<const std::uint64_t> ids);
  /// The first mini-batch that was announced and has not begun begins, and the one before it is
  /// over: the table has its rows, or they are on their way. Throws likewise; kInternal where none
  /// was announced.
  void begin();
  /// What was announced and has not begun will not.
  void forget();
  /// Whether more mini-batches would fill a window that is collected. Those that are announced and
  /// have not begun are never more than twice Limits::batches where this is gone by.
  bool wants_more() const;

 private:
  struct Window {
    std::vector<std::uint64_t> rows;  // ascending once it is closed; nothing once it was admitted
    std::uint64_t batches = 0;        // that have not begun
    bool closed = false;              // no mini-batch is added
    bool admitted = false;
  };

  void sort_batch(std::span<const std::uint64_t> ids);
  bool add_to(Window& window);
  void turn_mark(std::uint64_t row);
  void close(Window& window);
  void admit_closed();

  EmbeddingTable& table_;
  Limits limits_;
  MemoryLedger* ledger_;
  std::deque<Window> windows_;  // the first that is not over, and those behind it
  std::uint64_t waiting_ = 0;   // mini-batches that were announced and have not begun
  std::vector<std::uint64_t> batch_;
  std::vector<std::uint64_t> marks_;  // a bit a row of the table: of the window that is collected
  Charge charge_, marks_charge_;
};

}  // namespace sluice
