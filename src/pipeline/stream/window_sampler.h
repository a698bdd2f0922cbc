// WindowSampler: the first stage. Samples mini-batches in parallel and groups as many into a window
// as its blocks and distinct rows have room for. Used by one thread.
#pragma once

#include "core/threads.h"
#include "pipeline/data/graph_data_state.h"
#include "pipeline/stream/batch_spool.h"
#include "pipeline/stream/lent_staging.h"
#include "pipeline/stream/window_source.h"
#include "samplers/group_sampler.h"

#include <sluice/loader.h>

#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

inline constexpr std::uint64_t kFirstWindow = 4;  ///< batches; each next one may be twice as large
/// Of sampled blocks, by two cores, of a graph in memory.
inline constexpr double kSampledBytesASecond = 500e6;
inline constexpr std::uint64_t kMaxWindow = 1024;  ///< batches, when the options leave it open

class WindowSampler final : public WindowSource {
 public:
  WindowSampler(GraphData::State& data,
                const LoaderOptions& options,
                const QuerySource& queries,
                MemoryLedger& ledger);
  WindowSampler(const WindowSampler&) = delete;
  WindowSampler& operator=(const WindowSampler&) = delete;
  ~WindowSampler() { forget_ahead(); }

  /// From the next begin() on mini-batches are kept in a scratch file in `folder`; after the
  /// begin() after that, if the epoch went by to its end and it is at the same place, windows come
  /// without them, and bring() reads them from there: they are not sampled twice, and edges on disk
  /// are read once: as a whole into memory where that has room for a while, else by pages. Where
  /// the disk has no room for all of them none is kept, and bring() samples them again.
  /// @param bytes memory to be had meanwhile: the more, the more batches share their reads
  /// @param block_bytes of a mini-batch
  void keep_windows(const std::string& folder, std::uint64_t bytes, std::uint64_t block_bytes);
  /// Gives up what was kept; its traffic stays counted.
  void forget_kept();
  /// Whether that pays: edges are on disk, or a mini-batch comes back sooner than it is sampled.
  bool worth_keeping() const;
  /// Whether the windows of the epoch that was begun come without their mini-batches.
  bool brings() const { return keep_ == Keep::kUse; }
  /// Fills in a mini-batch of such a window, and the numbers of its rows: of all windows, one after
  /// the other, once their rows are placed. May run beside sample(), and is the one that samples
  /// then. Throws Error. @pre brings()
  void bring(Window& window, std::size_t index);
  /// Whether the epoch that was begun comes from what was kept, all of it.
  bool all_kept() const { return keep_ == Keep::kUse && spool_ != nullptr; }
  void share_tables(int threads) { sampler_.share_tables(threads); }
  /// Of threads, that sampling made so far.
  std::size_t workspaces() const { return sampler_.workspaces(); }
  /// Gives back what sampling takes until it is wanted again. Returns the bytes.
  std::uint64_t release_workspaces();
  /// How mini-batches are sampled while they are kept.
  struct Keeping {
    std::uint64_t edge_bytes = 0;  ///< of edges that are held meanwhile; 0: they are read by pages
    std::size_t group = 1;         ///< batches that share reads
    std::size_t ahead = 1;         ///< batches sampled at once where none are shared
    std::uint64_t staging = 0;     ///< that each relation on disk is lent; 0: none
  };
  Keeping plan_keeping(std::uint64_t bytes,
                       std::uint64_t block_bytes,
                       const WindowLimits& limits) const;
  /// Memory that makes keeping as fast as it gets; all of it where edges are on disk.
  std::uint64_t wish_for_keeping(std::uint64_t block_bytes, const WindowLimits& limits) const;
  /// Whether some of the edges are on disk.
  bool paged() const { return !sampler_.resident(); }
  void set_group(std::size_t batches) { sampler_.set_group(batches); }
  /// Traffic of the scratch file, and of edges read as a whole. For who samples, or brings.
  std::uint64_t spool_bytes_read() const { return spool_read_ + edges_read_; }
  std::uint64_t spool_bytes_written() const { return spool_written_; }

  void begin(const LoaderStart& where, WindowLimits limits) override;
  std::shared_ptr<Window> sample() override;
  bool free_disk() override;

  /// Ends what goes on on threads of the sampler's own. Until the next begin() only the measuring
  /// below may be called.
  void halt() {
    forget_ahead();
    lent_.reset();
  }

  /// Batches sampled at once, each in a workspace of its own.
  std::size_t group_size() const { return sampler_.group_size(); }

  /// Samples one batch of epoch 0, for measuring; or some that follow each other, together: fewer
  /// than asked for where there is no room for as many.
  Batch sample_one(std::uint64_t index);
  std::vector<Batch> sample_some(std::uint64_t first, std::size_t count) {
    return sample_in_room(0, first, count);
  }

 private:
  void sample_group();
  /// Whether the next group is sampled while this one's rows are numbered.
  bool ahead_of_numbering() const {
    return keep_ == Keep::kNow && (resident_sampler_ != nullptr || !paged());
  }
  std::vector<Batch> next_group();
  std::vector<Batch> sample_in_room(std::uint64_t epoch, std::uint64_t first, std::size_t count);
  void forget_ahead();
  void keep_last(Window& window);
  void keep(const Window& window);
  void finish_keeping();
  std::shared_ptr<Window> next_known();
  void sample_again(Window& window, std::size_t index);
  void begin_keeping(const LoaderStart& where);
  void end_keeping();
  void lend_staging(std::uint64_t each);
  std::uint64_t workspace_bytes() const;
  std::uint64_t bytes_a_workspace() const;
  bool load_edges(std::uint64_t bytes);
  BlockParts parts() const;
  std::unique_ptr<GroupSampler> make_sampler(SamplerGraph graph);
  std::vector<Batch> sample_batches(std::uint64_t epoch, std::uint64_t first, std::size_t count);
  std::uint64_t room_for(std::size_t type);
  bool add(Window& window, Batch& batch);
  [[noreturn]] void refuse(const Window& window, const Batch& batch) const;

  GraphData::State& data_;
  LoaderOptions options_;
  const QuerySource& queries_;
  MemoryLedger& ledger_;
  ThreadArena arena_;
  GroupSampler sampler_;
  std::uint64_t measured_workspace_ = 0;  // bytes that sample_one() took
  std::uint64_t epoch_ = 0;
  std::uint64_t first_batch_ = 0;
  std::uint64_t next_batch_ = 0;
  std::size_t next_window_ = 0;
  WindowLimits limits_;
  std::uint64_t used_bytes_ = 0;  // of the window being made
  // The most batches of the next window: windows grow, so that the first is soon there.
  std::uint64_t ramp_ = 0;
  std::deque<Batch> sampled_;  // waiting for a window
  // While windows are kept and edges are in memory: the group after the last one.
  std::future<std::vector<Batch>> ahead_;
  // kDone: all of the epoch went by. Only then, and only for a begin at the same place with the
  // same limits, what was kept is used.
  enum class Keep { kNo, kFromNextBegin, kNow, kDone, kUse };
  Keep keep_ = Keep::kNo;
  // A window whose mini-batches went by: what is known of it then.
  struct KeptWindow {
    std::uint64_t first_batch = 0;
    std::uint64_t batches = 0;
    std::vector<std::optional<std::uint64_t>> rows;  // by node type, where they are on disk
  };
  std::vector<KeptWindow> kept_;
  std::string keep_folder_;
  std::uint64_t keep_memory_ = 0;
  std::unique_ptr<GroupSampler> resident_sampler_;  // while batches are kept, if edges fit
  std::unique_ptr<LentStaging> lent_;               // meanwhile, if they do not
  std::uint64_t keep_bytes_ = 0;
  std::size_t keep_ahead_ = 1;         // batches sampled at once meanwhile
  std::unique_ptr<BatchSpool> spool_;  // null where the disk had no room
  std::uint64_t spool_read_ = 0;
  std::uint64_t spool_written_ = 0;
  std::uint64_t edges_read_ = 0;
};

}  // namespace sluice
