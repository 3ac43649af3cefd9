#include "headspan/checkpoint/model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "checkpoint/absent_layer.h"
#include "checkpoint/choose_layout.h"
#include "checkpoint/config.h"
#include "checkpoint/layer_plan.h"

namespace headspan::checkpoint {
namespace {

/// More layers than any model has: a larger promise is a damaged configuration, not a reason to print rows.
constexpr std::int64_t kMostLayers = 10000;

/// The facts of one stack that its layers share.
struct StackFacts {
  StackNames names;
  ConfigScope scope;
  CountRules rules;
  std::map<std::string, std::string> origin;
};

std::string layer_type(const ConfigScope& scope, int layer) {
  for (const char* key : {"layer_types", "layers_block_type"}) {
    const nlohmann::json* types = scope.exists() ? scope.find(key) : nullptr;
    const bool listed = types && types->is_array() && static_cast<std::size_t>(layer) < types->size();
    if (listed && (*types)[static_cast<std::size_t>(layer)].is_string())
      return (*types)[static_cast<std::size_t>(layer)].get<std::string>();
  }
  return {};
}

/// What the configuration says of a layer.
enum class Attends { yes, no, not_said };

Attends attends(const ConfigScope& scope, int layer) {
  const std::string type = layer_type(scope, layer);
  if (type.empty()) return Attends::not_said;
  const bool softmax =
      type.find("attention") != std::string::npos && type.find("linear") == std::string::npos;
  return softmax || type == "hybrid" ? Attends::yes : Attends::no;
}

std::int64_t pruned_heads(const ConfigScope& scope, int layer) {
  const nlohmann::json* pruned = scope.exists() ? scope.find("pruned_heads") : nullptr;
  if (!pruned || !pruned->is_object()) return 0;
  const auto heads = pruned->find(std::to_string(layer));
  if (heads == pruned->end() || !heads->is_array()) return 0;
  return static_cast<std::int64_t>(std::set<nlohmann::json>(heads->begin(), heads->end()).size());
}

std::string code_text(const AttentionNames& names) {
  return std::string(to_string(names.code)) + (names.in_out ? "+T" : "");
}

std::string absence_reason(const AbsentLayer& absent, const Sourced& n_layers) {
  if (absent.place.empty()) return "promised by the configuration, absent from the file";
  const std::string promise = fmt::format("{} = {} promises this layer", n_layers.origin, n_layers.value);
  return absent.first_tensor.empty()
             ? fmt::format("{}; the file holds nothing named {} (a missing shard, or a cut model?)", promise,
                           absent.place)
             : fmt::format("{}; the file holds {} ... but no attention projection of it", promise,
                           absent.first_tensor);
}

/// "0, 2-6" of sorted numbers.
std::string ranges_text(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t first = i;
    while (i + 1 < numbers.size() && numbers[i + 1] == numbers[i] + 1) ++i;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", numbers[first]);
    if (i > first) text += fmt::format("-{}", numbers[i]);
  }
  return text;
}

}  // namespace

struct Model::State {
  std::unique_ptr<Container> container;
  ModelOptions options;
  Config config;
  LayoutChoice choice;
  std::vector<StackFacts> stacks;
  std::vector<LayerPlace> layers;
  std::vector<std::optional<LayerPlan>> plans;  ///< beside `layers`; empty for refused ones
  std::vector<std::optional<LayerTrouble>> troubles;
  std::map<std::string, std::string> origin;
  std::vector<std::string> prefixes, notes;
  std::int64_t d_model = 0;

  void find_layers();
  void add_stack(StackFacts& stack);
  void add_layer(StackFacts& stack, int number);
  void record_origin(StackFacts& stack, const LayerPlan& plan, const Counts& counts);
  void add_absent(const StackFacts& stack, int number, const AbsentLayer& absent);
  void add_promised(const StackFacts& stack, std::set<int>& numbers);
  void refuse_contradictory_file() const;
  void collect_origins();
  void collect_notes();
  int used_by(const StackFacts& stack) const;
  std::optional<std::int64_t> shared_number(std::int64_t LayerPlace::*member) const;
};

int Model::State::used_by(const StackFacts& stack) const {
  if (choice.layout.shared_layers.empty() || !stack.scope.exists()) return 1;
  const auto uses = stack.scope.number({choice.layout.shared_layers}, false).value;
  const auto stored = static_cast<std::int64_t>(stack.names.layers.size());
  return uses && uses->value <= kMostLayers
             ? static_cast<int>(std::max<std::int64_t>(1, uses->value / stored))
             : 1;
}

void Model::State::record_origin(StackFacts& stack, const LayerPlan& plan, const Counts& counts) {
  const TensorEntry& reader = plan.fused ? *plan.fused : *plan.query;
  if (d_model == 0) d_model = reader.shape[plan.names->in_out ? 0 : 1];
  stack.origin = {
      {"n_heads", counts.n_heads.origin},
      {"n_kv_heads", counts.n_kv_heads.origin},
      {"head_dim", counts.head_dim.origin},
      {"d_model", stack.rules.d_model ? stack.rules.d_model->origin : "shapes: width of " + reader.name}};
}

void Model::State::add_layer(StackFacts& stack, int number) {
  LayerPlace place;
  place.layer = number;
  place.stack = stack.names.label;
  place.attention = stack.names.names->attention;
  place.code = code_text(*stack.names.names);
  place.used_by = used_by(stack);
  place.qk_norm = "none";
  Counts counts;
  std::optional<LayerPlan> plan;
  std::optional<LayerTrouble> trouble;
  try {
    plan =
        plan_layer(*container,
                   {&stack.names, number, &stack.rules, options.fold_norm, pruned_heads(stack.scope, number)},
                   place, counts);
  } catch (const LayerTrouble& caught) {
    trouble = caught;
    place.reason = caught.what();
  }
  if (plan && stack.origin.empty()) record_origin(stack, *plan, counts);
  layers.push_back(std::move(place));
  plans.push_back(plan);
  troubles.push_back(trouble);
}

void Model::State::add_absent(const StackFacts& stack, int number, const AbsentLayer& absent) {
  LayerPlace place;
  place.layer = number;
  place.stack = stack.names.label;
  place.attention = stack.names.names->attention;
  place.code = code_text(*stack.names.names);
  place.qk_norm = "none";
  place.reason = absence_reason(absent, *stack.rules.n_layers);
  layers.push_back(std::move(place));
  plans.emplace_back();
  troubles.emplace_back();
}

/// Adds to `numbers` the layers that the configuration promises and that should attend.
void Model::State::add_promised(const StackFacts& stack, std::set<int>& numbers) {
  const Sourced& promised = *stack.rules.n_layers;
  if (promised.value > kMostLayers)
    throw CheckpointError(
        FileFault::refused, {config.path(), promised.origin, {}},
        fmt::format("is {}: more than {} layers is taken for damage; correct the configuration",
                    promised.value, kMostLayers));
  std::vector<int> of_other_kind;
  for (int number = 0; number < promised.value; ++number) {
    const Attends said = attends(stack.scope, number);
    if (said == Attends::no || stack.names.layers.contains(number)) continue;
    if (said == Attends::not_said && absent_layer(*container, stack.names, number).is_other_kind)
      of_other_kind.push_back(number);
    else
      numbers.insert(number);
  }
  if (!of_other_kind.empty())
    notes.push_back(fmt::format(
        "{}: not attention layers, since they are stored without an attention module: {} ({} ...)",
        stack.names.label, ranges_text(of_other_kind),
        absent_layer(*container, stack.names, of_other_kind.front()).first_tensor));
  const int last = stack.names.layers.rbegin()->first;
  if (last >= promised.value)
    notes.push_back(
        fmt::format("{}: layers up to {} are stored, {} = {} (extra layers, or another model's "
                    "configuration)",
                    stack.names.label, last, promised.origin, promised.value));
}

void Model::State::add_stack(StackFacts& stack) {
  std::set<int> numbers;
  for (const auto& [number, base] : stack.names.layers) numbers.insert(number);
  if (stack.rules.n_layers) add_promised(stack, numbers);
  for (int number : numbers) {
    if (stack.names.layers.contains(number))
      add_layer(stack, number);
    else
      add_absent(stack, number, absent_layer(*container, stack.names, number));
  }
}

void Model::State::find_layers() {
  for (StackNames& names : find_stacks(choice.layout, *container, choice.prefixes)) {
    StackFacts stack;
    stack.scope = config.scope(names.names->config_section, names.prefix);
    stack.rules = count_rules(options, choice.layout, *names.names, config, stack.scope);
    stack.names = std::move(names);
    stacks.push_back(std::move(stack));
  }
  for (StackFacts& stack : stacks) add_stack(stack);
}

/// A count that fits no stored layer concerns the whole file.
void Model::State::refuse_contradictory_file() const {
  const LayerTrouble* first = nullptr;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const bool file_wide = troubles[i] && troubles[i]->kind() != LayerTrouble::Kind::unreadable;
    if (plans[i] || (troubles[i] && !file_wide)) return;
    if (file_wide && !first) first = &*troubles[i];
  }
  if (first) throw CheckpointError(FileFault::refused, {container->path(), {}, {}}, first->what());
}

void Model::State::collect_origins() {
  for (const char* quantity : {"n_heads", "n_kv_heads", "head_dim", "d_model"}) {
    std::map<std::string, std::string> by_stack;
    std::set<std::string> distinct;
    for (const StackFacts& stack : stacks) {
      const auto found = stack.origin.find(quantity);
      if (found == stack.origin.end()) continue;
      const std::string kind = stack.names.names->attention == "cross" ? ".cross." : ".";
      by_stack[stack.names.label + kind + quantity] = found->second;
      distinct.insert(found->second);
    }
    if (distinct.size() == 1)
      origin[quantity] = *distinct.begin();
    else
      origin.insert(by_stack.begin(), by_stack.end());
  }
}

// Modules at any path come as they come, and an encoder reads a memory only where it serves as a decoder.
bool is_expected(const AttentionNames& names) {
  return !names.layer.starts_with("{path}") && !(names.stack == "encoder" && names.attention == "cross");
}

void Model::State::collect_notes() {
  std::vector<StackNames> used;
  std::set<std::string> distinct;
  std::set<const AttentionNames*> kinds;
  for (const StackFacts& stack : stacks) {
    used.push_back(stack.names);
    kinds.insert(stack.names.names);
    if (!stack.names.prefix.empty()) distinct.insert(stack.names.prefix);
  }
  prefixes.assign(distinct.begin(), distinct.end());
  if (choice.prefixes == Prefixes::any)
    notes.push_back(fmt::format("prefixes taken off though not known: {}", fmt::join(prefixes, ", ")));
  for (const AttentionNames& names : choice.layout.attentions)
    if (!kinds.contains(&names) && is_expected(names))
      notes.push_back(fmt::format("layout {} also names {} {}-attention; the file holds none",
                                  choice.layout.name, names.stack, names.attention));
  std::vector<std::string> unused = unused_projections(*container, used);
  if (unused.empty()) return;
  notes.push_back(fmt::format("not audited under layout {}, though named like projections: {}",
                              choice.layout.name, listed(unused, 6)));
}

std::optional<std::int64_t> Model::State::shared_number(std::int64_t LayerPlace::*member) const {
  std::optional<std::int64_t> number;
  for (const LayerPlace& place : layers) {
    const LayerPlace& head = layers.front();
    if (place.stack != head.stack || place.attention != head.attention || place.*member == 0) continue;
    if (number && *number != place.*member) return {};
    number = place.*member;
  }
  return number;
}

Model::Model(std::unique_ptr<Container> container, ModelOptions options) : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.container = std::move(container);
  state.options = std::move(options);
  state.config = state.options.config_path.empty() ? Config::beside(state.container->path())
                                                   : Config::load(state.options.config_path);
  state.choice = choose_layout(*state.container, state.options, state.config);
  state.notes = state.container->notes();
  state.notes.insert(state.notes.end(), state.choice.notes.begin(), state.choice.notes.end());
  state.find_layers();
  state.refuse_contradictory_file();
  state.collect_origins();
  state.collect_notes();
}

Model::~Model() = default;
Model::Model(Model&& other) noexcept = default;
Model& Model::operator=(Model&& other) noexcept = default;

const Container& Model::container() const { return *state_->container; }
const Layout& Model::layout() const { return state_->choice.layout; }
const std::vector<LayerPlace>& Model::layers() const { return state_->layers; }
std::int64_t Model::d_model() const { return state_->d_model; }
const std::map<std::string, std::string>& Model::origin() const { return state_->origin; }
const std::vector<std::string>& Model::prefixes() const { return state_->prefixes; }
const std::vector<std::string>& Model::notes() const { return state_->notes; }
std::optional<std::int64_t> Model::n_heads() const { return state_->shared_number(&LayerPlace::n_heads); }
std::optional<std::int64_t> Model::n_kv_heads() const {
  return state_->shared_number(&LayerPlace::n_kv_heads);
}
std::optional<std::int64_t> Model::head_dim() const { return state_->shared_number(&LayerPlace::head_dim); }

std::string Model::layout_code() const {
  std::vector<std::string> codes;
  for (const LayerPlace& place : state_->layers)
    if (std::find(codes.begin(), codes.end(), place.code) == codes.end()) codes.push_back(place.code);
  return fmt::format("{}", fmt::join(codes, ", "));
}

LayerHeads Model::read(std::size_t i) const {
  const LayerPlace& place = state_->layers.at(i);
  if (!state_->plans[i])
    throw CheckpointError(
        FileFault::refused,
        {state_->container->path(), fmt::format("{} layer {}", place.stack, place.layer), {}}, place.reason);
  return read_heads(*state_->container, *state_->plans[i], place);
}

Matrix Model::read_fused(std::size_t i) const {
  const std::optional<LayerPlan>& plan = state_->plans.at(i);
  return plan ? read_fused_rows(*state_->container, *plan) : Matrix();
}

}  // namespace headspan::checkpoint
