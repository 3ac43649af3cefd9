// Every registered family on a synthetic checkpoint. Tensor names, fused orders and norms are written out
// here once more, from the families' own sources and not from the rows under test; entries are numbered, so
// that the heads that must come out are known exactly.

#include "headspan/checkpoint/layout.h"

#include <gtest/gtest.h>

#include <set>

#include "checkpoint/layout_families.h"
#include "checkpoint/memory_container.h"
#include "headspan/checkpoint/model.h"

namespace headspan::checkpoint {
namespace {

/// Row a of head h of a role over `width` inputs: all entries of a model distinct.
struct Numbered {
  double base;
  int head_dim;
  double operator()(int head, int axis, int input) const {
    return base + 100.0 * (head * head_dim + axis) + input;
  }
};

struct Expected {
  Matrix query, key, value, output;
};

Matrix head_rows(const Numbered& role, int n_heads, int width) {
  Matrix rows(n_heads * role.head_dim, width);
  for (int h = 0; h < n_heads; ++h)
    for (int a = 0; a < role.head_dim; ++a)
      for (int c = 0; c < width; ++c) rows(h * role.head_dim + a, c) = role(h, a, c);
  return rows;
}

/// The fused matrix, block after block in the order the family's source code states.
Matrix fused_matrix(const Family& family, const Expected& heads) {
  std::vector<Matrix> blocks;
  const auto put = [&](const Matrix& role, int head) {
    blocks.emplace_back(role.middleRows(head * family.head_dim, family.head_dim));
  };
  const int n_heads = family.n_heads, n_kv = family.n_kv_heads;
  if (family.order == Order::s3) {
    for (int h = 0; h < n_heads; ++h) put(heads.query, h);
    for (int g = 0; g < n_kv; ++g) put(heads.key, g);
    for (int g = 0; g < n_kv; ++g) put(heads.value, g);
  } else if (family.order == Order::i3) {
    for (int h = 0; h < n_heads; ++h) put(heads.query, h), put(heads.key, h), put(heads.value, h);
  } else if (family.order == Order::ig) {
    int h = 0;
    for (int g = 0; g < n_kv; ++g) {
      for (int r = 0; r < n_heads / n_kv; ++r) put(heads.query, h++);
      put(heads.key, g), put(heads.value, g);
    }
  } else {
    for (int slab = 0; slab < 4; ++slab)
      for (const Matrix* role : {&heads.query, &heads.value, &heads.key})
        for (int i = 0; i < n_heads / 4; ++i) put(*role, slab * (n_heads / 4) + i);
  }
  Matrix all(static_cast<Index>(blocks.size()) * family.head_dim, family.d_model);
  for (std::size_t i = 0; i < blocks.size(); ++i)
    all.middleRows(static_cast<Index>(i) * family.head_dim, family.head_dim) = blocks[i];
  return all;
}

std::string at_layer(std::string name, int layer) {
  const std::size_t mark = name.find('#');
  return mark == std::string::npos ? name : name.replace(mark, 1, std::to_string(layer));
}

Vector gain_of(int width, double start) { return Vector::LinSpaced(width, start, start + 1.0); }

/// Stores one layer and returns its heads before any folding.
Expected add_layer(MemoryContainer& file, const Family& family, int layer) {
  const double base = 1e7 * (layer + 1);
  Expected heads;
  heads.query = head_rows({base + 1e6, family.head_dim}, family.n_heads, family.d_model);
  heads.key = head_rows({base + 2e6, family.head_dim}, family.n_kv_heads, family.d_model);
  heads.value = head_rows({base + 3e6, family.head_dim}, family.n_kv_heads, family.d_model);
  heads.output = head_rows({base + 4e6, family.head_dim}, family.n_heads, family.d_model);
  const auto store = [&](const std::string& name, const Matrix& out_in) {
    file.add(at_layer(name, layer), family.in_out ? Matrix(out_in.transpose()) : out_in);
  };
  if (family.order == Order::separate) {
    store(family.names[0], heads.query);
    store(family.names[1], heads.key);
    store(family.names[2], heads.value);
  } else {
    store(family.names[0], fused_matrix(family, heads));
  }
  store(family.names.back(), heads.output.transpose());
  if (!family.norm.empty()) file.add_vector(at_layer(family.norm, layer), gain_of(family.d_model, 0.5));
  return heads;
}

Matrix folded(const Matrix& weight, const Vector& gain, Norm kind) {
  if (kind == Norm::none) return weight;
  const Index width = weight.cols();
  const Matrix centring =
      Matrix::Identity(width, width) - Matrix::Constant(width, width, 1.0 / double(width));
  const Matrix scaled = weight * Matrix(gain.asDiagonal());
  return kind == Norm::rms ? scaled : Matrix(scaled * centring);
}

class EveryFamily : public testing::TestWithParam<Family> {
 protected:
  void load(FoldNorm fold) {
    const Family& family = GetParam();
    auto file = std::make_unique<MemoryContainer>(folder_.path());
    folder_.write("config.json", family.config);
    for (int layer = 0; layer < 2; ++layer) expected_[layer] = add_layer(*file, family, layer);
    if (!family.memory_norm.empty()) file->add_vector(family.memory_norm, gain_of(family.d_model, 2.0));
    ModelOptions options;
    options.fold_norm = fold;
    model_ = std::make_unique<Model>(std::move(file), options);
  }

  TestFolder folder_;
  Expected expected_[2];
  std::unique_ptr<Model> model_;
};

void expect_near(const Matrix& value, const Matrix& expected, const char* what) {
  ASSERT_EQ(value.rows(), expected.rows()) << what;
  ASSERT_EQ(value.cols(), expected.cols()) << what;
  EXPECT_LE((value - expected).cwiseAbs().maxCoeff(), 1e-13 * expected.cwiseAbs().maxCoeff()) << what;
}

TEST_P(EveryFamily, YieldsTheHeadsThatWereStored) {
  load(FoldNorm::no);
  const Family& family = GetParam();
  EXPECT_EQ(model_->layout().name, family.layout);
  EXPECT_EQ(model_->d_model(), family.d_model);
  EXPECT_EQ(model_->n_heads(), family.n_heads);
  EXPECT_EQ(model_->n_kv_heads(), family.n_kv_heads);
  EXPECT_EQ(model_->head_dim(), family.head_dim);
  ASSERT_EQ(model_->layers().size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const LayerPlace& place = model_->layers()[i];
    EXPECT_EQ(place.layer, static_cast<int>(i));
    EXPECT_EQ(place.stack, family.stack);
    EXPECT_EQ(place.attention, family.attention);
    EXPECT_EQ(place.reason, "");
    EXPECT_EQ(place.folded, "none: --fold-norm no");
    const LayerHeads heads = model_->read(i);
    EXPECT_EQ(heads.query.weight, expected_[i].query);
    EXPECT_EQ(heads.key.weight, expected_[i].key);
    EXPECT_EQ(heads.value.weight, expected_[i].value);
    EXPECT_EQ(heads.output.weight, expected_[i].output);
    EXPECT_EQ(heads.query.unit_roundoff, 0x1p-8);
    const Matrix fused = model_->read_fused(i);
    if (family.order == Order::separate)
      EXPECT_EQ(fused.size(), 0);
    else
      EXPECT_EQ(fused, fused_matrix(family, expected_[i]));
  }
}

TEST_P(EveryFamily, FoldsTheNormItReads) {
  load(FoldNorm::automatic);
  const Family& family = GetParam();
  const Vector gain = gain_of(family.d_model, 0.5).array() + family.norm_offset;
  const bool cross = family.attention == "cross";
  const Vector memory = cross ? gain_of(family.d_model, 2.0) : gain;
  const Norm memory_kind = cross && family.memory_norm.empty() ? Norm::none : family.norm_kind;
  for (std::size_t i = 0; i < 2; ++i) {
    const LayerHeads heads = model_->read(i);
    expect_near(heads.query.weight, folded(expected_[i].query, gain, family.norm_kind), "query");
    expect_near(heads.key.weight, folded(expected_[i].key, memory, memory_kind), "key");
    expect_near(heads.value.weight, folded(expected_[i].value, memory, memory_kind), "value");
    EXPECT_EQ(heads.output.weight, expected_[i].output);
    const std::string& text = model_->layers()[i].folded;
    if (family.norm_kind == Norm::none)
      EXPECT_EQ(text.substr(0, 5), "none:") << text;
    else
      EXPECT_NE(text.find(at_layer(family.norm, static_cast<int>(i))), std::string::npos) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, EveryFamily, testing::ValuesIn(families()), [](const auto& tested) {
  return tested.param.layout + "_" + std::to_string(tested.index);
});

TEST(Layouts, EachRowHasAFamilyAbove) {
  std::set<std::string> tested, rows;
  for (const Family& family : families()) tested.insert(family.layout);
  for (const Layout& row : builtin_layouts())
    EXPECT_TRUE(rows.insert(row.name).second) << row.name << " twice";
  EXPECT_EQ(tested, rows);
}

TEST(Layouts, RowsSurviveTheRoundTripThroughJson) {
  const std::string text = layouts_json(builtin_layouts());
  const std::vector<Layout> again = parse_layouts(text, "rows.json");
  ASSERT_EQ(again.size(), builtin_layouts().size());
  EXPECT_EQ(layouts_json(again), text);
  const Layout& gemma =
      *std::find_if(again.begin(), again.end(), [](const Layout& row) { return row.name == "gemma"; });
  EXPECT_EQ(gemma.attentions[0].input_norm->gain_offset, 1.0);
  EXPECT_EQ(gemma.attentions[0].qk_gain_offset, 1.0);
  EXPECT_EQ(std::get<std::int64_t>(gemma.defaults.at("gemma3_text").at("head_dim")), 256);
}

struct BadRow {
  std::string json, key, rule;
};

TEST(Layouts, BadRowsNameFileAndKey) {
  const std::string fused = R"("stack":"d","attention":"self","layer":"l.{layer}.","fused":"f","output":"o")";
  const std::vector<BadRow> rows = {
      {R"({"title":"x"})", "layout.name", "required"},
      {R"({"name":"x"})", "layout.attentions", "at least one"},
      {R"([{"name":"x","atentions":[]}])", "layouts[0].attentions", "array"},
      {R"({"name":"x","attentions":[{"stack":"d","attention":"self","layer":"","output":"o"}]})",
       "layout.attentions[0].query", "must be named"},
      {R"({"name":"x","attentions":[{)" + fused + R"(}]})", "layout.attentions[0].code", "ordered"},
      {R"({"name":"x","attentions":[{)" + fused + R"(,"code":"S4"}]})", "layout.attentions[0].code",
       "S3, I3"},
      {R"({"name":"x","attentions":[{)" + fused + R"(,"code":"S3","inout":true}]})",
       "layout.attentions[0].inout", "not a key"},
      {R"({"name":"x","attentions":[{)" + fused +
           R"(,"code":"S3","input_norm":{"tensors":["n"],"kind":"batch"}}]})",
       "layout.attentions[0].input_norm.kind", "rms"},
      {R"({"name":3})", "layout.name", "string"},
      {R"(3)", "layouts", "array"},
      {R"([])", "layouts", "holds no layout row"},
      {R"({"layouts":[]})", "layouts", "holds no layout row"},
  };
  for (const BadRow& row : rows) {
    try {
      parse_layouts(row.json, "mine.json");
      ADD_FAILURE() << "accepted " << row.json;
    } catch (const CheckpointError& error) {
      EXPECT_EQ(error.place().path, "mine.json");
      EXPECT_EQ(error.place().item, row.key) << error.what();
      EXPECT_NE(error.reason().find(row.rule), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace headspan::checkpoint
