#include "headspan/numeric/io.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "headspan/numeric/error.h"

namespace headspan {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() / ("headspan_io_" + std::to_string(::getpid()) + test->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(at(name), std::ios::binary) << bytes;
    return at(name);
  }
  static std::string content(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  std::size_t n_files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator{}));
  }
  // A time stamp apart from that of the writing, which may fall into one tick of the clock.
  static void set_other_time(const std::string& path) {
    fs::last_write_time(path, fs::last_write_time(path) + std::chrono::seconds(10));
  }
  fs::path folder_;
};

template <class Call>
FileFault fault_of(const Call& call) {
  try {
    call();
  } catch (const FileError& error) {
    return error.fault();
  }
  throw std::logic_error("no FileError was thrown");
}

TEST_F(Files, ReadsAnyPart) {
  const InputFile file(write("a", "0123456789"));
  EXPECT_EQ(file.size(), 10U);
  std::string part(4, ' ');
  file.read(3, part.data(), part.size());
  EXPECT_EQ(part, "3456");
  file.read(10, part.data(), 0);
}

TEST_F(Files, ReadsFromSeveralThreads) {
  std::string bytes(1 << 16, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 >> 3);
  const InputFile file(write("a", bytes));
  std::array<bool, 4> agree{};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < agree.size(); ++t)
    threads.emplace_back([&, t] {
      bool all = true;
      std::string part(257, ' ');
      for (std::size_t offset = t; offset + part.size() < bytes.size(); offset += 1021) {
        file.read(offset, part.data(), part.size());
        all = all && bytes.compare(offset, part.size(), part) == 0;
      }
      agree[t] = all;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(agree, (std::array<bool, 4>{true, true, true, true}));
}

TEST_F(Files, WhatCannotBeOpenedIsNamed) {
  EXPECT_EQ(fault_of([&] { InputFile file(at("absent")); }), FileFault::missing);
  EXPECT_EQ(fault_of([&] { InputFile file(write("a", "x") + "/b"); }), FileFault::missing);
  EXPECT_EQ(fault_of([&] { InputFile file(folder_.string()); }), FileFault::unreadable);
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  EXPECT_EQ(fault_of([&] { InputFile file(at("pipe")); }), FileFault::unreadable);
  fs::create_symlink("gone", at("link"));
  try {
    InputFile file(at("link"));
    ADD_FAILURE();
  } catch (const FileError& error) {
    EXPECT_EQ(error.fault(), FileFault::missing);
    EXPECT_NE(error.reason().find("gone"), std::string::npos) << error.what();
  }
}

TEST_F(Files, AReadBeyondTheEndIsTruncated) {
  const InputFile file(write("a", "0123456789"));
  std::string part(4, ' ');
  EXPECT_EQ(fault_of([&] { file.read(7, part.data(), 4); }), FileFault::truncated);
  EXPECT_EQ(fault_of([&] { file.read(11, part.data(), 0); }), FileFault::truncated);
  EXPECT_EQ(fault_of([&] { file.read(~std::uint64_t{0}, part.data(), 4); }), FileFault::truncated);
}

TEST_F(Files, AFileThatShrinksWhileReadEndsInAnError) {
  const InputFile file(write("a", std::string(100000, 'x')));
  std::string part(50000, ' ');
  file.read(0, part.data(), part.size());
  fs::resize_file(at("a"), 60000);
  try {
    file.read(50000, part.data(), part.size());
    ADD_FAILURE();
  } catch (const FileError& error) {
    EXPECT_EQ(error.fault(), FileFault::truncated);
    EXPECT_EQ(error.place().offset, 60000U);
  }
  // Bytes that are still there are not to be trusted either.
  EXPECT_EQ(fault_of([&] { file.read(0, part.data(), 10); }), FileFault::truncated);
}

TEST_F(Files, AFileChangedReplacedOrRemovedWhileReadIsRefused) {
  std::string part(2, ' ');
  const InputFile rewritten(write("a", "0123456789"));
  write("a", "9876543210");
  set_other_time(at("a"));
  EXPECT_EQ(fault_of([&] { rewritten.read(0, part.data(), 2); }), FileFault::refused);

  const InputFile grown(write("b", "0123456789"));
  std::ofstream(at("b"), std::ios::app) << "more";
  EXPECT_EQ(fault_of([&] { grown.check_unchanged(); }), FileFault::refused);

  const InputFile replaced(write("c", "0123456789"));
  write("new", "0123456789");
  fs::rename(at("new"), at("c"));
  EXPECT_EQ(fault_of([&] { replaced.read(0, part.data(), 2); }), FileFault::refused);

  const InputFile removed(write("d", "0123456789"));
  fs::remove(at("d"));
  EXPECT_EQ(fault_of([&] { removed.check_unchanged(); }), FileFault::refused);
}

TEST_F(Files, AMovedFileStaysOpen) {
  InputFile first(write("a", "first"));
  InputFile second(write("b", "second"));
  second = std::move(first);
  std::string part(5, ' ');
  second.read(0, part.data(), part.size());
  EXPECT_EQ(part, "first");
  EXPECT_EQ(second.path(), at("a"));
}

TEST_F(Files, ReadTextKeepsToItsLimit) {
  write("a", "0123456789");
  EXPECT_EQ(read_text(at("a"), 10), "0123456789");
  EXPECT_EQ(fault_of([&] { read_text(at("a"), 9); }), FileFault::refused);
}

TEST_F(Files, ReplaceWritesNewAndOldFiles) {
  const std::string large(300000, 'y');
  replace_file(at("a"), [&](std::ostream& out) { out << "new " << 7; });
  EXPECT_EQ(content(at("a")), "new 7");
  replace_file(at("a"), [&](std::ostream& out) { out << large; });
  EXPECT_EQ(content(at("a")), large);
  EXPECT_EQ(n_files(), 1U);
}

TEST_F(Files, ReplaceKeepsPermissionsAndTakesTheLongestName) {
  write("a", "old");
  fs::permissions(at("a"), fs::perms::owner_read | fs::perms::owner_write | fs::perms::others_read);
  replace_file(at("a"), [](std::ostream& out) { out << "new"; });
  EXPECT_EQ(fs::status(at("a")).permissions(),
            fs::perms::owner_read | fs::perms::owner_write | fs::perms::others_read);
  const std::string longest(255, 'n');
  replace_file(at(longest), [](std::ostream& out) { out << "x"; });
  EXPECT_EQ(content(at(longest)), "x");
}

TEST_F(Files, AWriterThatThrowsLeavesTheOldFileAndNothingElse) {
  write("a", "old");
  EXPECT_THROW(replace_file(at("a"),
                            [](std::ostream& out) {
                              out << "half" << std::flush;
                              throw std::runtime_error("cancelled");
                            }),
               std::runtime_error);
  EXPECT_EQ(content(at("a")), "old");
  EXPECT_EQ(n_files(), 1U);
}

TEST_F(Files, AWriterThatGivesUpIsAnOutputError) {
  EXPECT_THROW(replace_file(at("a"), [](std::ostream& out) { out.setstate(std::ios::failbit); }),
               OutputError);
  EXPECT_EQ(n_files(), 0U);
}

TEST_F(Files, WhatCannotBeWrittenIsAnOutputError) {
  const auto nothing = [](std::ostream& out) { out << "x"; };
  EXPECT_THROW(replace_file(at("absent/a"), nothing), OutputError);
  EXPECT_THROW(replace_file(at(std::string(256, 'n')), nothing), OutputError);
  fs::create_directories(folder_ / "folder/inner");
  EXPECT_THROW(replace_file(at("folder"), nothing), OutputError);
  EXPECT_EQ(n_files(), 1U);
}

// A process ended in the middle of a write by a handler like the command line's.
TEST_F(Files, ASignalHandlerCanRemoveThePendingOutput) {
  write("a", "old");
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::signal(SIGTERM, [](int) {
      remove_pending_outputs();
      ::_exit(143);
    });
    replace_file(at("a"), [](std::ostream& out) {
      out << "half" << std::flush;
      std::raise(SIGTERM);
    });
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 143);
  EXPECT_EQ(content(at("a")), "old");
  EXPECT_EQ(n_files(), 1U);
}

TEST_F(Files, PendingOutputsOfNestedWritesAreAllRemovedAndFinishedOnesStay) {
  replace_file(at("done"), [](std::ostream& out) { out << "x"; });
  EXPECT_THROW(replace_file(at("a"),
                            [&](std::ostream& outer) {
                              outer << "a";
                              replace_file(at("b"), [&](std::ostream& inner) {
                                inner << "b";
                                EXPECT_EQ(n_files(), 3U);
                                remove_pending_outputs();
                                EXPECT_EQ(n_files(), 1U);
                              });
                            }),
               OutputError);
  EXPECT_EQ(content(at("done")), "x");
  EXPECT_EQ(n_files(), 1U);
}

}  // namespace
}  // namespace headspan
