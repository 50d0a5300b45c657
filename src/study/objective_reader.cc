// Whether a metric is to be minimized or maximized: what its name says against what was stated.
#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"
#include "study/reader_draft.h"

namespace seedbed {

namespace {

// Parts of names of metrics whose high values are good.
constexpr std::array<std::string_view, 39> kHigherIsBetter = {
    "acc",       "accuracy", "reward", "rewards", "return", "returns", "ret",    "score",
    "scores",    "auc",      "auroc",  "auprc",   "roc",    "f1",      "fscore", "precision",
    "recall",    "iou",      "miou",   "dice",    "map",    "ap",      "bleu",   "rouge",
    "meteor",    "ndcg",     "mrr",    "hits",    "r2",     "psnr",    "ssim",   "success",
    "successes", "win",      "wins",   "winrate", "mcc",    "kappa",   "top"};

// And of those whose low values are good; these win when a name holds both (`reward_loss`).
constexpr std::array<std::string_view, 26> kLowerIsBetter = {
    "loss", "losses", "error", "errors", "err",        "mse",      "rmse",    "mae",    "mape",
    "nll",  "ce",     "xent",  "ppl",    "perplexity", "fid",      "wer",     "cer",    "regret",
    "cost", "kl",     "kld",   "bpc",    "divergence", "distance", "latency", "entropy"};

// `val/Acc@1` gives val, acc, 1; `AverageEpRet` gives average, ep, ret; `acc1` gives acc1 and acc.
std::vector<std::string> name_parts(std::string_view name) {
  std::vector<std::string> parts;
  std::string part;
  const auto end_part = [&] {
    if (part.empty()) return;
    parts.push_back(part);
    const std::size_t letters = part.find_last_not_of("0123456789");
    if (letters != std::string::npos && letters + 1 < part.size()) {
      parts.push_back(part.substr(0, letters + 1));
    }
    part.clear();
  };
  char previous = ' ';
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) == 0) {
      end_part();
    } else {
      if (std::isupper(byte) != 0 && std::islower(static_cast<unsigned char>(previous)) != 0) {
        end_part();
      }
      part += static_cast<char>(std::tolower(byte));
    }
    previous = c;
  }
  end_part();
  return parts;
}

template <std::size_t N>
bool holds_any(const std::vector<std::string>& parts,
               const std::array<std::string_view, N>& words) {
  return std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
    return std::find(words.begin(), words.end(), std::string_view(part)) != words.end();
  });
}

}  // namespace

bool more_is_better(std::string_view metric) {
  const std::vector<std::string> parts = name_parts(metric);
  return !holds_any(parts, kLowerIsBetter) && holds_any(parts, kHigherIsBetter);
}

Status check_goal(ReadContext& context, Objective& objective, const std::string& place) {
  if (objective.metric.empty()) return {};
  const bool lower_is_better = holds_any(name_parts(objective.metric), kLowerIsBetter);
  const bool higher_is_better = more_is_better(objective.metric);
  const std::string name = in_ticks(objective.metric);
  if (!objective.goal_stated) {
    if (higher_is_better) {
      return fail(ErrorCode::usage,
                  place + ": no goal for the metric " + name +
                      ", whose name says that more is better; write goal: maximize (or goal: "
                      "minimize if you mean that; on the command line --goal)");
    }
    objective.goal = Goal::minimize;
    context.warnings.push_back(place + ": no goal for the metric " + name +
                               ": minimizing; say goal: minimize or maximize");
    return {};
  }
  if (objective.goal == Goal::maximize && lower_is_better) {
    context.warnings.push_back(place + ": maximizing " + name +
                               ", whose name says that less is better");
  }
  if (objective.goal == Goal::minimize && higher_is_better) {
    context.warnings.push_back(place + ": minimizing " + name +
                               ", whose name says that more is better");
  }
  return {};
}

}  // namespace seedbed
