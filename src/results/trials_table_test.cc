#include "results/trials_table.h"

#include <gmock/gmock.h>

#include <limits>

#include "results/results_testing.h"

namespace seedbed {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::point_of;
using testing::WrittenStudy;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<std::int64_t> trials_of(const ResultTable& table) {
  std::vector<std::int64_t> numbers;
  for (const auto& row : table.rows) numbers.push_back(std::get<std::int64_t>(row[0]));
  return numbers;
}

std::vector<std::string> names_of(const ResultTable& table) {
  std::vector<std::string> names;
  for (const ResultColumn& column : table.columns) names.push_back(column.name);
  return names;
}

class TrialsTable : public ::testing::Test {
 protected:
  TrialsTable() {
    study.write(testing::sample_space());
    study.trial(1, point_of("1e-3", 0), {0.9, 0.1, 0.5});
    study.trial(2, point_of("0.01", 0), {kNan});
    study.trial(3, point_of(".1", 0), {2, 3, kInfinity});
    study.trial(4, point_of("1", 0), {}, TrialState::failed, "exit code 1");
    study.trial(5, point_of("10", 0), {}, TrialState::waiting);
    study.trial(6, point_of("100", 0), {0.3}, TrialState::running);
  }

  std::vector<std::int64_t> where(const std::string& text) {
    options.where = text;
    const auto table = trials_table(study.snapshot(needed_for(options)), options);
    EXPECT_TRUE(table) << table.error().message;
    return table ? trials_of(*table) : std::vector<std::int64_t>{-1};
  }
  std::vector<std::int64_t> sorted(std::vector<std::string> keys) {
    options.sort = std::move(keys);
    return where("");
  }

  WrittenStudy study;
  TrialsTableOptions options;
};

TEST_F(TrialsTable, DefaultColumnsSayWhichNumberOfTheCurveTheyAre) {
  const auto table = trials_table(study.snapshot(), options);
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_THAT(names_of(*table),
              ElementsAre("trial", "state", "lr", "loss", "loss:best", "duration", "reason"));
  EXPECT_EQ(table->columns[3].heading, "loss (last)");
  EXPECT_EQ(table->columns[4].heading, "loss (best, min)");
  ASSERT_EQ(table->rows.size(), 6U);
  EXPECT_EQ(std::get<Value>(table->rows[2][2]).spelling(), ".1");
  EXPECT_EQ(std::get<double>(table->rows[0][3]), 0.5);
  EXPECT_EQ(std::get<double>(table->rows[0][4]), 0.1);
  EXPECT_EQ(std::get<double>(table->rows[0][5]), 2.0);
  EXPECT_EQ(std::get<std::string>(table->rows[3][6]), "exit code 1");
}

TEST_F(TrialsTable, WhereSeesParametersMetricsAndStates) {
  EXPECT_THAT(where("lr < 0.1"), ElementsAre(1, 2));
  EXPECT_THAT(where("lr == 0.001"), ElementsAre(1));
  EXPECT_THAT(where("state == 'failed' or state == 'waiting'"), ElementsAre(4, 5));
  EXPECT_THAT(where("loss > 0.4"), ElementsAre(1, 3)) << "NaN is absent, infinity is large";
  EXPECT_THAT(where("`loss:best` <= 0.3"), ElementsAre(1, 6));
  EXPECT_THAT(where("`loss:mean-last:2` < 0.4"), ElementsAre(1, 6));
  EXPECT_THAT(where("duration >= 2 and trial > 1"), ElementsAre(2, 3, 4));
  EXPECT_THAT(where("param.lr > 50"), ElementsAre(6));
  EXPECT_THAT(where("trial > 6"), IsEmpty());
}

TEST_F(TrialsTable, UnknownNamesGetASuggestion) {
  options.where = "los < 1";
  const auto table = trials_table(study.snapshot(), options);
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().code, ErrorCode::usage);
  EXPECT_THAT(table.error().message, HasSubstr("did you mean \"loss\""));
  options.where = "lr <";
  EXPECT_FALSE(trials_table(study.snapshot(), options));
  options.where = "";
  options.columns = {"trial", "nosuch"};
  EXPECT_THAT(trials_table(study.snapshot(), options).error().message, HasSubstr("nosuch"));
  options.columns = {"loss:mean-last:0"};
  EXPECT_FALSE(trials_table(study.snapshot(), options));
}

TEST_F(TrialsTable, SortsByValueWithWhatIsMissingLastBothWays) {
  EXPECT_THAT(sorted({"lr"}), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(sorted({"-lr"}), ElementsAre(6, 5, 4, 3, 2, 1));
  EXPECT_THAT(sorted({"loss"}), ElementsAre(6, 1, 3, 2, 4, 5));
  EXPECT_THAT(sorted({"-loss"}), ElementsAre(3, 1, 6, 2, 4, 5));
  EXPECT_THAT(sorted({"state", "-trial"}), ElementsAre(3, 2, 1, 4, 6, 5));
  options.limit = 2;
  EXPECT_THAT(sorted({"-lr"}), ElementsAre(6, 5));
  options.sort = {"-nosuch"};
  EXPECT_FALSE(trials_table(study.snapshot(), options));
}

TEST_F(TrialsTable, CaseI2_TrialsOutsideThePresentSpaceAreMarked) {
  study.write(testing::sample_space(2));
  study.write(TrialKept{1, 2, 0, false});
  const auto table = trials_table(study.snapshot(), options);
  ASSERT_TRUE(table);
  EXPECT_EQ(names_of(*table)[2], "in_space");
  EXPECT_TRUE(std::get<bool>(table->rows[0][2]));
  EXPECT_FALSE(std::get<bool>(table->rows[1][2]));
}

TEST_F(TrialsTable, TheDurationOfARunningTrialGrows) {
  options.columns = {"trial", "duration"};
  options.where = "state == 'running'";
  const Snapshot snapshot = study.snapshot();
  options.now = *snapshot.trial(6)->started_at + Milliseconds(2500);
  const auto table = trials_table(snapshot, options);
  ASSERT_TRUE(table);
  EXPECT_EQ(std::get<double>(table->rows.at(0)[1]), 2.5);
}

TEST_F(TrialsTable, AParameterNeverTakesThePlaceOfAColumn) {
  WrittenStudy other;
  other.write(testing::sample_space());
  other.trial(1, {{{"state", Value::from_text("solid")}, {"loss", Value::integer(7)}}}, {0.5});
  other.trial(2, {{{"state", Value::from_text("gas")}, {"loss", Value::integer(8)}}}, {0.25});
  TrialsTableOptions given;
  given.columns = {"state", "loss", "metric.loss", "param.state"};
  auto table = trials_table(other.snapshot(), given);
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(std::get<std::string>(table->rows[0][0]), "completed");
  EXPECT_EQ(std::get<Value>(table->rows[0][1]).spelling(), "7");
  EXPECT_EQ(std::get<double>(table->rows[0][2]), 0.5);
  EXPECT_EQ(std::get<Value>(table->rows[0][3]).spelling(), "solid");

  given.columns = {};
  given.where = "state == 'completed' and `param.state` == 'gas'";
  table = trials_table(other.snapshot(), given);
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_THAT(names_of(*table), ElementsAre("trial", "state", "param.state", "loss", "metric.loss",
                                            "loss:best", "duration"));
  EXPECT_THAT(trials_of(*table), ElementsAre(2));

  given.where = "";
  given.sort = {"param.state"};
  EXPECT_THAT(trials_of(*trials_table(other.snapshot(), given)), ElementsAre(2, 1));
}

TEST_F(TrialsTable, AParameterIsShownThatTellsRowsApartOrIsAskedFor) {
  WrittenStudy other;
  other.write(testing::sample_space(1));
  other.trial(1, point_of("1e-3", 0), {0.5});
  other.write(testing::sample_space(2));
  other.trial(2, point_of("1e-1", 0), {0.25}, TrialState::completed, "", 2);
  const auto shown = [&](const TrialsTableOptions& given) {
    const auto table = trials_table(other.snapshot(), given);
    EXPECT_TRUE(table) << table.error().message;
    auto names = table ? names_of(*table) : std::vector<std::string>();
    std::erase_if(names, [](const std::string& name) { return name != "lr" && name != "seed"; });
    return names;
  };
  EXPECT_THAT(shown({}), ElementsAre("lr")) << "in the present space it is constant";
  TrialsTableOptions given;
  given.where = "in_space";
  EXPECT_THAT(shown(given), IsEmpty());
  given.sort = {"-seed"};
  EXPECT_THAT(shown(given), ElementsAre("seed"));
  given.where = "in_space and `param.lr` > 0";
  EXPECT_THAT(shown(given), ElementsAre("lr", "seed"));
  given = {};
  given.all_parameters = true;
  EXPECT_THAT(shown(given), ElementsAre("lr", "seed"));
  // Not to be there is a value too.
  other.trial(3, {{{"lr", Value::from_plain("1e-1")}}}, {0.25}, TrialState::completed, "", 2);
  given = {};
  given.where = "trial > 1";
  EXPECT_THAT(shown(given), ElementsAre("seed"));
}

TEST_F(TrialsTable, CaseI13_TheExportHoldsEverythingInStableColumns) {
  const ResultTable table = export_table(study.snapshot());
  EXPECT_THAT(names_of(table),
              ElementsAre("trial", "state", "in_space", "added", "attempts", "reason",
                          "metric_missing", "outcome", "exit_code", "host", "slot", "proposed",
                          "started", "finished", "duration", "cpu", "peak_memory", "log_bytes",
                          "folder", "code", "param.lr", "param.seed", "metric.loss.last",
                          "metric.loss.last_step", "metric.loss.min", "metric.loss.min_step",
                          "metric.loss.max", "metric.loss.max_step", "metric.loss.n"));
  ASSERT_EQ(table.rows.size(), 6U);
  EXPECT_EQ(std::get<double>(table.rows[0][24]), 0.1);
  EXPECT_EQ(std::get<double>(table.rows[0][25]), 2.0);
  EXPECT_EQ(std::get<std::int64_t>(table.rows[0][28]), 3);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(table.rows[4][22])) << "no metric, no value";
  EXPECT_EQ(std::get<double>(table.rows[2][26]), 3.0) << "extremes are of the finite values";
}

}  // namespace
}  // namespace seedbed
