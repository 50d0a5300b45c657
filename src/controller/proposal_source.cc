#include "controller/proposal_source.h"

#include <utility>

namespace seedbed {
namespace {

constexpr std::uint64_t kLooksPerQuestion = 50'000;

class ThreadedSource : public ProposalSource {
 public:
  ThreadedSource(EventLoop& loop, std::unique_ptr<Sampler> sampler, std::uint64_t study_seed)
      : loop_(loop), sampler_(std::move(sampler)), study_seed_(study_seed) {}

  void ask(std::uint64_t from, std::uint64_t count,
           std::function<void(ProposalsMade)> answer) override {
    auto made = std::make_shared<ProposalsMade>();
    // The sampler is shared with the worker, so that leaving in the middle of a fit is safe.
    loop_.run_in_background([made, sampler = sampler_, seed = study_seed_, from,
                             count] { *made = collect_proposals(*sampler, seed, from, count); },
                            [made, answer = std::move(answer)] { answer(std::move(*made)); });
  }

 private:
  EventLoop& loop_;
  std::shared_ptr<const Sampler> sampler_;
  std::uint64_t study_seed_;
};

}  // namespace

ProposalsMade collect_proposals(const Sampler& sampler, std::uint64_t study_seed,
                                std::uint64_t from, std::uint64_t count) {
  SamplerContext context;
  context.study_seed = study_seed;
  ProposalsMade made;
  made.from = from;
  made.next = from;
  while (made.points.size() < count && made.next - from < kLooksPerQuestion) {
    auto proposal = sampler.propose(made.next, context);
    if (!proposal) {
      made.error = proposal.error().message;
      return made;
    }
    if (proposal->kind == Proposal::Kind::exhausted) {
      made.exhausted = true;
      return made;
    }
    if (proposal->kind == Proposal::Kind::point) {
      made.points.push_back({made.next, std::move(proposal->point)});
    }
    ++made.next;
  }
  return made;
}

std::unique_ptr<ProposalSource> make_proposal_source(EventLoop& loop,
                                                     std::unique_ptr<Sampler> sampler,
                                                     std::uint64_t study_seed) {
  return std::make_unique<ThreadedSource>(loop, std::move(sampler), study_seed);
}

}  // namespace seedbed
