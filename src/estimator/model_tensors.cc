#include "estimator/model_tensors.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace headspan::estimator {
namespace {

/// Writes what it visits into a list.
class Collector {
 public:
  void matrix(const std::string& name, const Matrix& values, Index rows, Index cols) {
    list.push_back({name, {rows, cols}, {values.data(), values.data() + values.size()}});
  }
  void vector(const std::string& name, const Vector& values, Index size) {
    list.push_back({name, {size}, {values.data(), values.data() + values.size()}});
  }
  void places(const std::string& name, const std::vector<Index>& values, Index size, Index /*below*/) {
    list.push_back({name, {size}, {values.begin(), values.end()}});
  }
  void number(const std::string& name, double value, int /*since*/) { list.push_back({name, {1}, {value}}); }
  std::vector<NamedArray> list;
};

/// Fills what it visits from a file.
class Filler {
 public:
  Filler(const checkpoint::Container& container, int format_version)
      : container_(container), format_version_(format_version) {}

  void matrix(const std::string& name, Matrix& values, Index rows, Index cols) const {
    const checkpoint::TensorEntry& entry = find(name, 2);
    require_length(name, "rows", entry.shape[0], rows);
    require_length(name, "columns", entry.shape[1], cols);
    values.resize(entry.shape[0], entry.shape[1]);
    if (values.size() > 0) container_.read_rows(entry, 0, values.rows(), values);
  }

  void vector(const std::string& name, Vector& values, Index size) const {
    const checkpoint::TensorEntry& entry = find(name, 1);
    require_length(name, "entries", entry.shape[0], size);
    Matrix row(1, entry.shape[0]);
    if (row.size() > 0) container_.read_rows(entry, 0, row.size(), row);
    values = row.transpose();
  }

  void places(const std::string& name, std::vector<Index>& values, Index size, Index below) const {
    Vector numbers;
    vector(name, numbers, size);
    values.clear();
    for (const double number : numbers) {
      if (!(number >= 0.0 && number < static_cast<double>(below) && number == std::floor(number)))
        fail(name, fmt::format("holds {}, not a whole number from 0 to below {}", number, below));
      values.push_back(static_cast<Index>(number));
    }
  }

  /// Of formats from `since` on.
  void number(const std::string& name, double& value, int since) const {
    value = std::numeric_limits<double>::quiet_NaN();
    if (format_version_ < since) return;
    Vector one;
    vector(name, one, 1);
    value = one[0];
  }

 private:
  [[noreturn]] void fail(const std::string& name, const std::string& rule) const {
    throw CheckpointError(FileFault::malformed, {container_.path(), name, {}},
                          rule + "; no headspan writes this: get another copy, or fit again");
  }

  const checkpoint::TensorEntry& find(const std::string& name, std::size_t rank) const {
    const checkpoint::TensorEntry* entry = container_.find(name);
    if (entry == nullptr) fail(name, "the array is missing");
    if (entry->dtype.name != "F64" || entry->shape.size() != rank)
      fail(name, fmt::format("it is {} {}, not F64 of {} axes", entry->dtype.name,
                             checkpoint::shape_text(entry->shape), rank));
    return *entry;
  }

  // -1: any length.
  void require_length(const std::string& name, const char* what, std::int64_t have, Index want) const {
    if (want >= 0 && have != want)
      fail(name, fmt::format("it has {} {}, the rest of the file wants {}", have, what, want));
  }

  const checkpoint::Container& container_;
  int format_version_;
};

constexpr Index kAny = -1;

template <class T>
Index length(const T& values) {
  return static_cast<Index>(values.size());
}

/// Scalars of a struct as one array. `each` are references, in the order of the array.
template <class Archive, class... Doubles>
void visit_numbers(Archive& archive, const std::string& name, Doubles&... each) {
  Vector numbers(sizeof...(each));
  Index i = 0;
  ((numbers[i++] = each), ...);
  archive.vector(name, numbers, numbers.size());
  if constexpr ((!std::is_const_v<Doubles> && ...)) {
    i = 0;
    ((each = numbers[i++]), ...);
  }
}

// Both directions go through the functions below, so a file and a model cannot disagree on what is where.

template <class Archive, class MultiHeadType>
void visit_estimate(Archive& archive, const std::string& prefix, MultiHeadType& estimate, Index n, Index q) {
  visit_numbers(archive, prefix + "numbers", estimate.weight, estimate.intercept, estimate.ridge);
  archive.vector(prefix + "trend", estimate.trend, q);
  archive.matrix(prefix + "values", estimate.values, n, length(estimate.heads));
  for (std::size_t h = 0; h < estimate.heads.size(); ++h) {
    auto& head = estimate.heads[h];
    const std::string name = fmt::format("{}head.{}", prefix, h);
    archive.matrix(name + ".projection", head.projection,
                   std::is_const_v<MultiHeadType> ? head.projection.rows() : kAny, q);
    visit_numbers(archive, name + ".numbers", head.weight, head.loneliest);
    if (!estimate.recipe.sharpen) continue;
    visit_numbers(archive, name + ".bounds", head.lowest, head.highest);
    archive.number(name + ".sharpness", head.sharpness, 3);
  }
}

template <class Archive, class MemberType>
void visit_member(Archive& archive, const std::string& prefix, MemberType& member, Index n, Index q) {
  archive.places(prefix + "rows", member.rows, std::is_const_v<MemberType> ? length(member.rows) : kAny, n);
  for (std::size_t e = 0; e < member.estimates.size(); ++e)
    visit_estimate(archive, fmt::format("{}{}.", prefix, e), member.estimates[e], length(member.rows), q);
}

template <class Archive, class ModelType>
void visit_model(Archive& archive, ModelType& model) {
  constexpr bool kWriting = std::is_const_v<ModelType>;
  archive.vector("input.center", model.input_center, kWriting ? model.input_center.size() : kAny);
  const Index p = model.input_center.size();
  archive.vector("input.scale", model.input_scale, p);
  archive.places("input.used", model.inputs, kWriting ? length(model.inputs) : kAny, p);
  const Index q = length(model.inputs);
  visit_numbers(archive, "target.numbers", model.target_center, model.target_scale);
  archive.vector("row.target", model.target, kWriting ? model.target.size() : kAny);
  const Index n = model.target.size();
  archive.matrix("row.inputs", model.keys, n, q);
  archive.vector("row.frequency", model.frequency, n);
  archive.vector("row.loo_residual", model.loo_residual, n);
  const Index n_with_fold = model.folds.empty() ? 0 : n;
  archive.vector("row.fold_residual", model.fold_residual, n_with_fold);
  archive.places("row.fold", model.fold_of_row, n_with_fold, length(model.folds));
  visit_member(archive, "ensemble.", model.ensemble, n, q);
  for (std::size_t k = 0; k < model.folds.size(); ++k)
    visit_member(archive, fmt::format("fold.{}.", k), model.folds[k], n, q);
}

}  // namespace

std::vector<NamedArray> arrays_of(const Model& model) {
  Collector collector;
  visit_model(collector, model);
  return std::move(collector.list);
}

void fill_arrays(const checkpoint::Container& container, int format_version, Model& model) {
  const Filler filler(container, format_version);
  visit_model(filler, model);
}

}  // namespace headspan::estimator
