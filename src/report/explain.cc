#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ostream>

#include "headspan/numeric/error.h"
#include "report/lookup.h"
#include "report/number_text.h"
#include "report/terminal.h"
#include "report/weight_place.h"

namespace headspan::report {
namespace {

using audit::AuditReport;
using audit::HeadFacts;
using audit::LayerFacts;
using audit::PairFacts;
using audit::Source;

constexpr std::size_t kPartnersShown = 3;

struct HeadPlace {
  const LayerFacts* layer = nullptr;
  int head = 0;
};

[[noreturn]] void fail(const std::string& name, const std::string& rule) {
  throw ArgumentError(fmt::format("--explain {}: {}", name, rule));
}

std::string all_labels(const AuditReport& report) {
  std::string out;
  for (const LayerFacts& layer : report.layers) append(out, ", ", layer_label(report, layer));
  return out;
}

// The label in full, or its last part where that is enough to tell.
const LayerFacts& find_layer(const AuditReport& report, const std::string& label, const std::string& name) {
  std::vector<const LayerFacts*> matches;
  for (const LayerFacts& layer : report.layers) {
    const std::string own = layer_label(report, layer);
    if (own == label) return layer;
    if (own.ends_with("." + label)) matches.push_back(&layer);
  }
  if (matches.empty()) fail(name, fmt::format("no such layer; the layers are {}", all_labels(report)));
  if (matches.size() > 1)
    fail(name, fmt::format("{} layers are called so; name one, e.g. {}.{}", matches.size(),
                           layer_label(report, *matches.front()), name.substr(name.rfind('.') + 1)));
  return *matches.front();
}

HeadPlace find_head(const AuditReport& report, const std::string& name) {
  const std::size_t dot = name.rfind('.');
  int head = -1;
  if (dot != std::string::npos && dot > 0) {
    const char* end = name.data() + name.size();
    const auto parsed = std::from_chars(name.data() + dot + 1, end, head);
    if (parsed.ec != std::errc() || parsed.ptr != end) head = -1;
  }
  if (head < 0) fail(name, "wants LAYER.HEAD, e.g. 3.5");
  const LayerFacts& layer = find_layer(report, name.substr(0, dot), name);
  if (layer.n_heads > 0 && head >= layer.n_heads)
    fail(name, fmt::format("layer {} has heads 0 to {}", layer_label(report, layer), layer.n_heads - 1));
  return {&layer, head};
}

std::optional<int> key_head(const HeadPlace& place) {
  const LayerFacts& layer = *place.layer;
  if (layer.n_heads == 0 || layer.n_kv_heads == 0) return std::nullopt;
  return static_cast<int>(place.head / (layer.n_heads / layer.n_kv_heads));
}

const HeadFacts* facts_of(const HeadPlace& place) {
  for (const HeadFacts& facts : place.layer->heads)
    if (facts.head == place.head) return &facts;
  return nullptr;
}

std::string identity(const HeadPlace& place) {
  const LayerFacts& layer = *place.layer;
  std::string text = fmt::format("query head {} of {}", place.head, count_text(layer.n_heads));
  const std::optional<int> key = key_head(place);
  if (!key) return text;
  text += fmt::format(", reads key/value head {} of {}", *key, layer.n_kv_heads);
  const std::int64_t group = layer.n_heads / layer.n_kv_heads;
  if (group > 1) text += fmt::format(", shared by heads {} to {}", *key * group, (*key + 1) * group - 1);
  return text;
}

std::string rank_text(const std::optional<int>& rank, std::int64_t dimension) {
  return fmt::format("{} of {}", rank ? std::to_string(*rank) : "-", count_text(dimension));
}

void write_weights(std::ostream& out, const HeadPlace& place, const HeadFacts* facts,
                   const TerminalStyle& style) {
  const LayerFacts& layer = *place.layer;
  TextTable table({{"weights", false, 0}, {"tensor", false, 2}, {"where", false, 2}, {"rank", false, 2}});
  const HeadFacts unknown;
  const HeadFacts& head = facts == nullptr ? unknown : *facts;
  const std::vector<std::pair<Role, std::string>> ranks = {
      {Role::query, rank_text(head.rank_query, layer.head_dim)},
      {Role::key, rank_text(head.rank_key, layer.head_dim)},
      {Role::value, rank_text(head.rank_value, layer.value_dim)},
      {Role::output, rank_text(head.rank_output, layer.value_dim)}};
  for (const auto& [role, rank] : ranks) {
    const WeightPlace weight = weight_place(layer, role, place.head);
    table.add_row({{to_string(role)}, {printable(weight.tensor)}, {weight.range}, {rank}});
  }
  table.write(out, style.colour, style.width);
}

void write_norms(std::ostream& out, const HeadPlace& place, const HeadFacts* facts,
                 const TerminalStyle& style) {
  const LayerFacts& layer = *place.layer;
  if (facts != nullptr) {
    write_entry(out, "|W_Q' W_K|", fmt::format("{} (how strongly it can score)", short_text(facts->qk_norm)),
                style);
    write_entry(out, "|W_O W_V|", fmt::format("{} (how strongly it can write)", short_text(facts->ov_norm)),
                style);
  }
  if (!layer.folded.empty()) write_entry(out, "norm folded", printable(layer.folded), style);
  if (!layer.qk_norm.empty()) write_entry(out, "q/k norm", printable(layer.qk_norm), style);
  std::string tolerance;
  for (const auto& [role, value] : layer.rank_tolerance)
    append(tolerance, ", ", fmt::format("{} {}", role, short_text(value)));
  if (!tolerance.empty()) write_entry(out, "tolerance", fmt::format("of the ranks: {}", tolerance), style);
  if (layer.used_by > 1)
    write_entry(out, "shared", fmt::format("one stored block serves {} layers", layer.used_by), style);
}

struct Partner {
  int head;
  const PairFacts* pair;
};

// Nearest first: by z where there is one, since overlaps of heads of different rank do not compare.
std::vector<Partner> partners(const LayerFacts& layer, Source source, int head) {
  std::vector<Partner> out;
  for (const PairFacts& pair : layer.pairs)
    if (pair.source == source && pair.overlap && (pair.a == head || pair.b == head))
      out.push_back({pair.a == head ? pair.b : pair.a, &pair});
  std::stable_sort(out.begin(), out.end(), [](const Partner& left, const Partner& right) {
    const auto key = [](const Partner& p) {
      return std::pair(p.pair->z.value_or(*p.pair->overlap), *p.pair->overlap);
    };
    return key(left) > key(right);
  });
  return out;
}

std::vector<Cell> partner_row(const std::string& source, int own, const Partner& partner) {
  const PairFacts& pair = *partner.pair;
  std::optional<double> smallest, largest;
  if (pair.angles && !pair.angles->empty()) {
    const auto [low, high] = std::minmax_element(pair.angles->begin(), pair.angles->end());
    smallest = *low;
    largest = *high;
  }
  return {{source},
          {source.empty() ? "" : std::to_string(own)},
          {std::to_string(partner.head)},
          {fixed_text(pair.overlap)},
          {z_text(pair.z)},
          {probability_text(pair.p)},
          {probability_text(pair.q)},
          {degrees_text(smallest)},
          {degrees_text(largest)},
          {pair.direction == audit::Direction::none ? "" : to_string(pair.direction),
           direction_tone(pair.direction)}};
}

void write_partners(std::ostream& out, const HeadPlace& place, const TerminalStyle& style) {
  TextTable table({{"nearest in", false, 0},
                   {"head", true, 2},
                   {"partner", true, 2},
                   {"overlap", true, 2},
                   {"z", true, 2},
                   {"p", true, 2},
                   {"q", true, 2},
                   {"smallest", true, 2},
                   {"largest angle", true, 2},
                   {"", false, 2}});
  for (const audit::SourceFacts& facts : place.layer->sources) {
    const int own = is_of_key_heads(facts.source) ? key_head(place).value_or(0) : place.head;
    const std::vector<Partner> near = partners(*place.layer, facts.source, own);
    const std::string name = to_string(facts.source);
    if (near.empty()) {
      table.add_row({{name}, {std::to_string(own)}, {"-"}, {"-"}});
      const std::string& reason = facts.reason;
      if (!reason.empty()) table.add_remark(printable(reason), Tone::quiet);
    }
    for (std::size_t i = 0; i < std::min(near.size(), kPartnersShown); ++i)
      table.add_row(partner_row(i == 0 ? name : "", own, near[i]));
  }
  table.write(out, style.colour, style.width);
  out << paint(
      wrapped("Angles in degrees, of the pairs whose angles were computed (--all-angles: of all). Key, value "
              "and kernel sources compare stored key/value heads.",
              0, style.width),
      Tone::quiet, style.colour);
}

std::string verdict_of(const PairFacts& pair) {
  switch (pair.direction) {
    case audit::Direction::aligned:
      return "significantly more alike than random heads";
    case audit::Direction::repelled:
      return "significantly less alike than random heads, though the nearest";
    case audit::Direction::none:
      return "not to be told from random heads";
  }
  return "";
}

std::string sentence(const HeadPlace& place, Source source, const char* what) {
  const int own = is_of_key_heads(source) ? key_head(place).value_or(0) : place.head;
  const std::vector<Partner> near = partners(*place.layer, source, own);
  if (near.empty()) return fmt::format("{} cannot be compared with those of another head.", what);
  return fmt::format("{} are nearest to those of {} {}: overlap {}, {}.", what,
                     is_of_key_heads(source) ? "key/value head" : "head", near.front().head,
                     fixed_text(near.front().pair->overlap), verdict_of(*near.front().pair));
}

void write_words(std::ostream& out, const HeadPlace& place, const TerminalStyle& style) {
  const std::string text = sentence(place, Source::query_subspace, "The directions its queries read") + " " +
                           sentence(place, Source::key_subspace, "The directions its keys read") + " " +
                           sentence(place, Source::output_subspace, "The directions it writes") + " " +
                           sentence(place, Source::score, "Its attention scores");
  out << '\n' << wrapped(text, 0, style.width);
}

}  // namespace

void write_explanation(std::ostream& out, const AuditReport& report, const std::string& layer_head,
                       const TerminalStyle& style) {
  const HeadPlace place = find_head(report, layer_head);
  const LayerFacts& layer = *place.layer;
  const HeadFacts* facts = facts_of(place);
  write_header(out, report, style);
  const std::string title = fmt::format("Head {} of layer {}", place.head, layer_label(report, layer));
  out << paint(title, Tone::heading, style.colour) << ": " << identity(place) << '\n';
  const audit::Status status = facts == nullptr ? layer.status : facts->status;
  const std::string& reason = facts == nullptr ? layer.reason : facts->reason;
  out << "status " << paint(to_string(status), status_tone(status), style.colour)
      << (reason.empty() ? "" : ": ") << printable(reason) << "\n\n";
  write_weights(out, place, facts, style);
  out << '\n';
  write_norms(out, place, facts, style);
  if (layer.sources.empty()) return;
  out << '\n';
  write_partners(out, place, style);
  write_words(out, place, style);
}

}  // namespace headspan::report
