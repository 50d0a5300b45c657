#include "study/folder_name.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "base/random.h"

namespace seedbed {
namespace {

Point point_of(std::vector<std::pair<std::string, Value>> values) {
  Point point;
  for (auto& [name, value] : values) point.parameters.push_back({name, value});
  return point;
}

std::vector<std::string> names(const Point& point) {
  std::vector<std::string> all;
  for (const Parameter& parameter : point.parameters) all.push_back(parameter.name);
  return all;
}

std::string folder(const Point& point, TrialNumber trial = 42) {
  return trial_folder_name(trial, point, names(point));
}

void expect_safe(const std::string& name, std::size_t limit) {
  EXPECT_FALSE(name.empty());
  EXPECT_LE(name.size(), limit) << name;
  EXPECT_NE(name[0], '-') << name;
  EXPECT_NE(name[0], '.') << name;
  EXPECT_EQ(
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"),
      std::string::npos)
      << name;
}

TEST(FolderName, IsTheNumberAndWhatVaries) {
  const Point point = point_of({{"lr", Value::from_plain("0.001")},
                                {"bs", Value::integer(32)},
                                {"fixed", Value::integer(1)}});
  EXPECT_EQ(trial_folder_name(42, point, {"lr", "bs"}), "00042-lr0.001-bs32");
  EXPECT_EQ(trial_folder_name(42, point, {}), "00042");
  EXPECT_EQ(trial_folder_name(1234567, point, {"bs"}), "1234567-bs32");
  EXPECT_EQ(folder(point_of({{"opt.lr", Value::from_plain("1e-3")}})), "00042-opt.lr1e-3");
}

TEST(FolderName, AbsentEmptyAndNoneDiffer) {
  EXPECT_EQ(folder(point_of({{"o", Value::absent()}})), "00042");
  EXPECT_EQ(folder(point_of({{"o", Value::from_text("")}})), "00042-o");
  EXPECT_EQ(folder(point_of({{"o", Value::null()}})), "00042-oNone");
}

TEST(FolderName, CaseJ2_NoValueLeadsOutOfTheFolderOrHurtsAShell) {
  for (const std::string& value :
       {std::string("a/b"), std::string(".."), std::string("../../x"), std::string("."),
        std::string("-rf"), std::string("a\nb"), std::string("a:b"), std::string(300, 'x'),
        std::string("🙂"), std::string("$(id)"), std::string("a\0b", 3), std::string("\xff")}) {
    expect_safe(folder(point_of({{"v", Value::from_text(value)}})), 60);
    expect_safe(folder(point_of({{value, Value::integer(1)}})), 60);
    expect_safe(safe_file_name(value, 40), 40);
  }
  std::vector<std::pair<std::string, Value>> forty;
  for (int i = 0; i < 40; ++i)
    forty.emplace_back("parameter" + std::to_string(i), Value::integer(i));
  const std::string name = folder(point_of(forty));
  expect_safe(name, 60);
  EXPECT_TRUE(name.starts_with("00042-parameter00-parameter11-")) << name;
}

TEST(FolderName, WhatWasLostShowsAsAHashOfTheWhole) {
  const auto of = [](const char* text) {
    return folder(point_of({{"v", Value::from_text(text)}}));
  };
  EXPECT_NE(of("a/b"), of("a:b"));
  EXPECT_EQ(of("a/b").substr(0, 11), "00042-va_b-");
  EXPECT_EQ(of("a_b"), "00042-va_b");
  EXPECT_NE(of("a."), "00042-va.");
  const Point drawn = point_of({{"lr", Value::from_plain("0.000304002817371")}});
  EXPECT_EQ(folder(drawn).substr(0, 17), "00042-lr0.000304-");
}

TEST(FolderName, SafeFileNamesKeepWhatIsSafe) {
  EXPECT_EQ(safe_file_name("ppo-ant_1.2", 60), "ppo-ant_1.2");
  EXPECT_NE(safe_file_name("a/b", 60), safe_file_name("a_b", 60));
  EXPECT_NE(safe_file_name("..", 60), safe_file_name(".", 60));
  expect_safe(safe_file_name("", 60), 60);
  expect_safe(safe_file_name("x", 1), 8);
  expect_safe(safe_file_name("---", 60), 60);
}

TEST(FolderName, RandomBytesAreAlwaysSafe) {
  Random random(31, 32);
  for (int i = 0; i < 3000; ++i) {
    std::string bytes;
    for (std::uint64_t k = 0, n = random.below(80); k < n; ++k) {
      bytes += static_cast<char>(random.below(256));
    }
    expect_safe(safe_file_name(bytes, 30), 30);
    expect_safe(folder(point_of({{bytes, Value::from_text(bytes)}}), random.next()), 60);
  }
}

}  // namespace
}  // namespace seedbed
