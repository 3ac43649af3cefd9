#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <ostream>
#include <streambuf>
#include <string>
#include <utility>

#include "headspan/numeric/error.h"
#include "headspan/numeric/io.h"

namespace headspan {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw OutputError(fmt::format("{}: cannot be written: {}; the old file, if any, is untouched", path, why));
}

// A signal handler may take no lock and allocate nothing, so the names of the temporaries stand in a list of
// plain arrays that only grows; a slot is reused, never freed.
struct PendingSlot {
  enum State : int { vacant, filling, pending };
  std::atomic<int> state{vacant};
  std::array<char, PATH_MAX> path{};
  PendingSlot* next = nullptr;
};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<PendingSlot*>::is_always_lock_free);

std::atomic<PendingSlot*> first_slot{nullptr};

PendingSlot& claim_slot() {
  for (PendingSlot* slot = first_slot.load(); slot != nullptr; slot = slot->next) {
    int expected = PendingSlot::vacant;
    if (slot->state.compare_exchange_strong(expected, PendingSlot::filling)) return *slot;
  }
  auto* slot = new PendingSlot;
  slot->state = PendingSlot::filling;
  slot->next = first_slot.load();
  while (!first_slot.compare_exchange_weak(slot->next, slot)) {
  }
  return *slot;
}

// The temporary: named to the signal handler before it exists, gone with its owner unless renamed.
class TemporaryFile {
 public:
  explicit TemporaryFile(const fs::path& target) : target_(target.string()), slot_(claim_slot()) {
    // A short name of its own: the target's may already be as long as the file system allows.
    static std::atomic<unsigned> serial{0};
    const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
    do {
      name_ = (folder / fmt::format(".headspan-{}-{}.tmp", ::getpid(), serial++)).string();
      if (name_.size() >= slot_.path.size()) abandon(ENAMETOOLONG);
      slot_.state = PendingSlot::filling;
      std::memcpy(slot_.path.data(), name_.c_str(), name_.size() + 1);
      slot_.state = PendingSlot::pending;
      descriptor_ = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (descriptor_ < 0 && errno == EEXIST);
    if (descriptor_ < 0) abandon(errno);
  }
  ~TemporaryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!name_.empty()) ::unlink(name_.c_str());
    slot_.state = PendingSlot::vacant;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  int descriptor() const { return descriptor_; }

  void keep_permissions_of_target() const {
    struct stat status {};
    if (::stat(target_.c_str(), &status) == 0 && S_ISREG(status.st_mode))
      ::fchmod(descriptor_, status.st_mode & 0777);
  }

  void become_target() {
    // Some file systems cannot sync; that is no reason to lose the output.
    if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != ENOTSUP) fail(target_, std::strerror(errno));
    if (::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) fail(target_, std::strerror(errno));
    if (std::rename(name_.c_str(), target_.c_str()) != 0) fail(target_, std::strerror(errno));
    const std::string folder = fs::path(name_).parent_path().string();
    name_.clear();
    const int folder_descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder_descriptor < 0) return;
    ::fsync(folder_descriptor);
    ::close(folder_descriptor);
  }

 private:
  [[noreturn]] void abandon(int error) {
    slot_.state = PendingSlot::vacant;
    fail(target_, std::strerror(error));
  }

  std::string target_;
  PendingSlot& slot_;
  std::string name_;
  int descriptor_ = -1;
};

// A stream over the descriptor that remembers why a write failed, which std::ofstream does not.
class DescriptorBuffer : public std::streambuf {
 public:
  explicit DescriptorBuffer(int descriptor) : descriptor_(descriptor) {
    setp(buffer_.data(), buffer_.data() + buffer_.size());
  }
  int error() const { return error_; }

 protected:
  int_type overflow(int_type c) override {
    if (sync() != 0) return traits_type::eof();
    if (!traits_type::eq_int_type(c, traits_type::eof())) sputc(traits_type::to_char_type(c));
    return traits_type::not_eof(c);
  }
  int sync() override {
    for (const char* at = pbase(); at < pptr() && error_ == 0;) {
      const ssize_t written = ::write(descriptor_, at, static_cast<std::size_t>(pptr() - at));
      if (written >= 0)
        at += written;
      else if (errno != EINTR)
        error_ = errno;
    }
    setp(buffer_.data(), buffer_.data() + buffer_.size());
    return error_ == 0 ? 0 : -1;
  }

 private:
  int descriptor_;
  int error_ = 0;
  std::array<char, 65536> buffer_{};
};

}  // namespace

void replace_file(const std::string& path, const std::function<void(std::ostream&)>& write) {
  // Absolute, so that neither the rename nor a signal handler depends on the working folder of the moment.
  TemporaryFile file(fs::absolute(path));
  file.keep_permissions_of_target();
  DescriptorBuffer buffer(file.descriptor());
  std::ostream stream(&buffer);
  write(stream);
  stream.flush();
  if (buffer.error() != 0) fail(path, std::strerror(buffer.error()));
  if (!stream) fail(path, "the writer gave up");
  file.become_target();
}

void remove_pending_outputs() noexcept {
  const int saved = errno;
  for (PendingSlot* slot = first_slot.load(); slot != nullptr; slot = slot->next)
    if (slot->state.load() == PendingSlot::pending) ::unlink(slot->path.data());
  errno = saved;
}

}  // namespace headspan
