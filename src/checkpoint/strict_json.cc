#include "checkpoint/strict_json.h"

#include <nlohmann/json.hpp>

#include "headspan/numeric/error.h"
#include "headspan/numeric/json.h"

namespace headspan::checkpoint {
namespace {

void refuse_other_kinds(const std::string& text, const std::string& path) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string::npos)
    throw CheckpointError(FileFault::malformed, {path, {}, {}},
                          "is empty where JSON is expected; fetch it again");
  if (text[start] == '<')
    throw CheckpointError(FileFault::malformed, {path, {}, start},
                          "is HTML, not JSON: probably a saved error or log-in page; fetch the file itself");
  if (text.compare(start, 34, "version https://git-lfs.github.com") == 0)
    throw CheckpointError(FileFault::malformed, {path, {}, start},
                          "is a git-LFS pointer, not the file; run git lfs pull");
}

}  // namespace

nlohmann::json parse_strict_json(const std::string& text, const std::string& path) {
  refuse_other_kinds(text, path);
  try {
    return parse_json(text, path);
  } catch (const FileError& error) {
    throw CheckpointError(error.fault(), error.place(), error.reason());
  }
}

}  // namespace headspan::checkpoint
