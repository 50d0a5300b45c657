#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "protocol/protocol_fuzz.h"

namespace seedbed {
namespace {

// Tests run in the root of the sources.
void replay(const std::string& name, void (*check)(std::string_view)) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("tests/fuzz/corpus/" + name)) {
    SCOPED_TRACE(entry.path().string());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string data{std::istreambuf_iterator<char>(file), {}};
    check(data);
    ++files;
  }
  EXPECT_GT(files, 0);
}

TEST(FuzzCorpus, ExitRecords) { replay("exit_record", protocol_fuzz::exit_record); }
TEST(FuzzCorpus, SlotFiles) { replay("slot_file", protocol_fuzz::slot_file); }
TEST(FuzzCorpus, Messages) { replay("message", protocol_fuzz::message); }

}  // namespace
}  // namespace seedbed
