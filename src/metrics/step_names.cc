#include "metrics/step_names.h"

#include <array>
#include <cstddef>

namespace seedbed {
namespace {

struct StepName {
  std::string_view name;  ///< lower case letters only
  int rank;
  bool in_text;
};

constexpr std::array kStepNames = {
    StepName{"globalstep", 100, true},     StepName{"step", 90, true},
    StepName{"trainstep", 89, false},      StepName{"trainingstep", 88, false},
    StepName{"totalsteps", 87, false},     StepName{"totalenvinteracts", 80, true},
    StepName{"totaltimesteps", 79, false}, StepName{"numtimesteps", 78, false},
    StepName{"timestepstotal", 77, false}, StepName{"totalenvsteps", 76, false},
    StepName{"envsteps", 75, false},       StepName{"envstep", 74, false},
    StepName{"timesteps", 73, false},      StepName{"timestep", 72, false},
    StepName{"steps", 71, false},          StepName{"trainingiteration", 69, false},
    StepName{"iteration", 68, true},       StepName{"iter", 67, true},
    StepName{"iterations", 66, false},     StepName{"nupdates", 60, false},
    StepName{"updates", 59, false},        StepName{"update", 58, false},
    StepName{"epoch", 50, true},           StepName{"epochs", 49, false},
    StepName{"episode", 40, true},         StepName{"episodes", 39, false},
    StepName{"round", 30, true},           StepName{"generation", 20, false},
};

constexpr std::size_t kLongest = 17;  // totalenvinteracts, trainingiteration

const StepName* find_step_name(std::string_view name) {
  const std::size_t cut = name.find_last_of("/.");
  if (cut != std::string_view::npos) name.remove_prefix(cut + 1);
  if (name.size() < 4 || name.size() > kLongest + 6) return nullptr;
  std::array<char, kLongest> word{};
  std::size_t length = 0;
  for (const char c : name) {
    if (c == '_' || c == '-' || c == ' ') continue;
    const char l = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    if (l < 'a' || l > 'z' || length == kLongest) return nullptr;
    word[length++] = l;
  }
  const std::string_view normal(word.data(), length);
  for (const StepName& known : kStepNames) {
    if (known.name == normal) return &known;
  }
  return nullptr;
}

}  // namespace

int step_rank(std::string_view name) {
  const StepName* found = find_step_name(name);
  return found ? found->rank : 0;
}

int text_step_rank(std::string_view name) {
  const StepName* found = find_step_name(name);
  return found && found->in_text ? found->rank : 0;
}

}  // namespace seedbed
