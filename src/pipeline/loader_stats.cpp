#include <sluice/loader_stats.h>

namespace sluice {

CacheCounts& CacheCounts::operator+=(const CacheCounts& more) {
  wanted += more.wanted;
  hits_window += more.hits_window;
  hits_kept += more.hits_kept;
  misses_first += more.misses_first;
  misses_again += more.misses_again;
  return *this;
}

CacheCounts& CacheCounts::operator-=(const CacheCounts& before) {
  wanted -= before.wanted;
  hits_window -= before.hits_window;
  hits_kept -= before.hits_kept;
  misses_first -= before.misses_first;
  misses_again -= before.misses_again;
  return *this;
}

}  // namespace sluice
