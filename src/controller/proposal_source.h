#pragma once

#include <memory>

#include "controller/ports.h"
#include "env/event_loop.h"
#include "samplers/sampler.h"

namespace seedbed {

/// Asks a sampler on a worker thread, so that a slow fit never stalls the loop.
[[nodiscard]] std::unique_ptr<ProposalSource> make_proposal_source(EventLoop& loop,
                                                                   std::unique_ptr<Sampler> sampler,
                                                                   std::uint64_t study_seed);

/// One question, answered here and now; what the worker thread runs. Looks at a bounded number of
/// proposals, so that a filter that drops nearly everything gives short answers, not a long wait.
[[nodiscard]] ProposalsMade collect_proposals(const Sampler& sampler, std::uint64_t study_seed,
                                              std::uint64_t from, std::uint64_t count);

}  // namespace seedbed
