"""The privileged self-teacher: the student as it is now, shown a hint (Eqs. 1, 2, 4).

It scores recorded responses after other prompts than those they were given after, and
writes responses of its own. No gradient flows here, and sampled ids are never tokenised
again. A second model in its place makes it a big teacher.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from pivotlab.engines.noise import draw, uniform
from pivotlab.engines.protocol import Sample, Sampling
from pivotlab.rollouts.branching import RememberingPlayer

#: Prompts that are run at once.
BATCH = 128

Ids = tuple[int, ...]


@dataclass(frozen=True)
class Request:
    """A prompt, the episode it branches off from, and the response to be scored."""

    episode: int
    prompt: Ids
    response: Ids = ()


class SelfTeacher:
    """Log-probabilities and samples of a model that remembers played episodes."""

    def __init__(self, player: RememberingPlayer, temperature: float = 1.0):
        """
        Args:
            player: has just played the episodes that requests name, with the weights
                it has now; one that has played nothing runs every prompt in full.
            temperature: of all log-probabilities, the trainer's.
        """
        self.player = player
        self.temperature = temperature

    def score(self, requests: Sequence[Request]) -> list[Float[Tensor, "response"]]:
        """Natural log-probs of every response's tokens after its prompt, on the CPU."""
        scores = []
        for request, log_probs in self._distributions(requests):
            chosen = torch.tensor(request.response, device=log_probs.device)
            scores.append(log_probs.gather(1, chosen[:, None])[:, 0].cpu())
        return scores

    def distributions(
        self, requests: Sequence[Request]
    ) -> list[Float[Tensor, "response vocab"]]:
        """Natural log-probs of the whole vocabulary at every response token."""
        return [log_probs.cpu() for _, log_probs in self._distributions(requests)]

    def write(
        self,
        requests: Sequence[Request],
        seeds: Sequence[int],
        sampling: Sampling,
    ) -> list[Sample]:
        """One response per prompt, with the log-prob of every token.

        Args:
            requests: their responses are not read.
            seeds: of the noise, one per request; batching changes nothing.
            sampling: length, temperature and stop ids.
        """
        samples: list[Sample] = []
        for first in range(0, len(requests), BATCH):
            chunk = requests[first : first + BATCH]
            own = seeds[first : first + BATCH]
            samples += self._write(chunk, own, sampling)
        return samples

    @torch.no_grad()
    def _distributions(self, requests: Sequence[Request]):
        decoder = self.player.decoder
        for first in range(0, len(requests), BATCH):
            chunk = requests[first : first + BATCH]
            cache, kept = self._branch(chunk)
            pairs = zip(chunk, kept, strict=True)
            fed = [[*r.prompt[held:], *r.response[:-1]] for r, held in pairs]
            logits = decoder.extend(cache, fed, all_logits=True)
            rows = logits.split([len(ids) for ids in fed])
            for request, own in zip(chunk, rows, strict=True):
                last = own[len(own) - len(request.response) :]
                yield request, (last / self.temperature).log_softmax(-1)

    def _branch(self, chunk: Sequence[Request]):
        return self.player.branch([r.episode for r in chunk], [r.prompt for r in chunk])

    @torch.no_grad()
    def _write(
        self, chunk: Sequence[Request], seeds: Sequence[int], sampling: Sampling
    ) -> list[Sample]:
        cache, kept = self._branch(chunk)
        fed = [list(r.prompt[held:]) for r, held in zip(chunk, kept, strict=True)]
        logits = self.player.decoder.extend(cache, fed)
        ids: list[list[int]] = [[] for _ in chunk]
        log_probs: list[list[float]] = [[] for _ in chunk]
        active = list(range(len(chunk)))
        for step in range(sampling.max_new_tokens):
            noise = [float(uniform(seeds[row], 0, step)) for row in active]
            tokens, logs = draw(logits, sampling.temperature, noise)
            drawn = list(zip(active, tokens.tolist(), logs.tolist(), strict=True))
            for row, token, log in drawn:
                ids[row].append(token)
                log_probs[row].append(log)
            going = [k for k, d in enumerate(drawn) if d[1] not in sampling.stop_ids]
            if not going or step + 1 == sampling.max_new_tokens:
                break
            active = [active[k] for k in going]
            logits = self.player.decoder.step(cache, tokens[going], active)
        return [
            Sample(tuple(i), i[-1] not in sampling.stop_ids, tuple(p))
            for i, p in zip(ids, log_probs, strict=True)
        ]
