// sluice-train: the training tool with everything that comes with Sluice.
#include <sluice/train.h>

int main(int argc, char** argv) {
  return sluice::train_main(argc, argv, sluice::TrainRegistry::builtin());
}
