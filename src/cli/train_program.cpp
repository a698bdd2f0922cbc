// sluice-train: the training tool with everything that comes with Sluice.
#include <sluice/train.h>

#include "cli/train_environment.h"

namespace {

// LibTorch's initialisers take 0.35 s of each start, and would be run twice where train_main()
// alone fixed the environment. What is listed here is run before them. A sanitizer's own come later
// still.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void before_initialisers(int /*argc*/, char** argv, char** environment) {
  sluice::cli::fix_environment(argv, environment);
}

[[gnu::section(".preinit_array"),
  gnu::used]] void (*const kBeforeInitialisers)(int, char**, char**) = before_initialisers;
#endif

}  // namespace

int main(int argc, char** argv) {
  return sluice::train_main(argc, argv, sluice::TrainRegistry::builtin());
}
