#include "storage/embedding/sparse_optimizers.h"

#include "kernels/table.h"

namespace sluice {
namespace {

constexpr double kMostRate = 1e6;

void describe_rate(Schema& schema, double& rate) {
  schema.field("lr", rate).help("learning rate").range(0, kMostRate);
}

// Above zero: it divides where all gradients were zero.
void describe_epsilon(Schema& schema, double& epsilon) {
  schema.field("epsilon", epsilon).help("added to the root that is divided by").range(1e-30, 1);
}

void describe_decay(Schema& schema, const char* name, double& decay, const char* help) {
  schema.field(name, decay).help(help).range(0, 1 - 1e-9);
}

kernels::Rows<const float> gradients_of(const RowGradients& rows) {
  return {rows.gradients, rows.count, static_cast<std::int64_t>(rows.dim)};
}

kernels::AdagradStep adagrad_step(const SparseAdagradOptions& options, double rate) {
  return {static_cast<float>(rate), static_cast<float>(options.epsilon)};
}

}  // namespace

void SparseSgd::Options::describe(Schema& schema) {
  describe_rate(schema, lr);
}

void SparseAdagradOptions::describe(Schema& schema) {
  describe_rate(schema, lr);
  describe_epsilon(schema, epsilon);
}

void SparseAdam::Options::describe(Schema& schema) {
  describe_rate(schema, lr);
  describe_decay(schema, "beta1", beta1, "decay of the mean of gradients");
  describe_decay(schema, "beta2", beta2, "decay of the mean of their squares");
  describe_epsilon(schema, epsilon);
}

void SparseSgd::update(const kernels::Executor& executor,
                       const RowGradients& rows,
                       double rate) const {
  kernels::on(executor).sgd_rows(executor, rows.rows, gradients_of(rows), static_cast<float>(rate));
}

void SparseAdagrad::update(const kernels::Executor& executor,
                           const RowGradients& rows,
                           double rate) const {
  kernels::on(executor).adagrad_rows(
      executor, rows.rows, gradients_of(rows), adagrad_step(options_, rate));
}

void SparseRowAdagrad::update(const kernels::Executor& executor,
                              const RowGradients& rows,
                              double rate) const {
  kernels::on(executor).adagrad_mean_rows(
      executor, rows.rows, gradients_of(rows), adagrad_step(options_, rate));
}

void SparseAdam::update(const kernels::Executor& executor,
                        const RowGradients& rows,
                        double rate) const {
  kernels::on(executor).adam_rows(
      executor,
      rows.rows,
      gradients_of(rows),
      {rate, options_.beta1, options_.beta2, static_cast<float>(options_.epsilon)});
}

}  // namespace sluice
