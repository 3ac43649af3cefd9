#include "audit/roles.h"

#include <gtest/gtest.h>

namespace headspan::audit {
namespace {

TEST(DoubtIfContradicted, OnlyAContradictionChangesTheLayer) {
  for (const char* verdict : {"agrees", "cannot tell"}) {
    LayerFacts facts;
    facts.roles = RoleFacts{"S3", "S3", {}, 0.9, verdict};
    doubt_if_contradicted(facts);
    EXPECT_EQ(facts.status, Status::ok);
  }
  LayerFacts facts;
  facts.reason = "1 of 4 heads dead";
  facts.roles = RoleFacts{"S3", "I3", {}, 0.999, "contradicts"};
  doubt_if_contradicted(facts);
  EXPECT_EQ(facts.status, Status::doubtful);
  EXPECT_NE(facts.reason.find("1 of 4 heads dead; the layout states S3"), std::string::npos);
  EXPECT_NE(facts.reason.find("I3"), std::string::npos);
}

}  // namespace
}  // namespace headspan::audit
