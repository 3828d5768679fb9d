"""transformers as the peer: the shipped folders, loaded unchanged, one thread."""

import numpy as np
import torch
from decoding import Ledger
from transformers import AutoModelForCausalLM, GenerationConfig

from specdec.model import MODELS

torch.set_num_threads(1)


def load(name_or_path):
    """A transformers model in float32 from a shipped name or a folder."""
    folder = MODELS / name_or_path if (MODELS / str(name_or_path)).is_dir() else name_or_path
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    # Nothing may end a text early: the comparisons want every token.
    model.generation_config = GenerationConfig(eos_token_id=None, pad_token_id=0)
    return model


@torch.no_grad()
def logits(model, prompt: list[int]) -> np.ndarray:
    """(T, V) of one text."""
    return model(torch.tensor([prompt])).logits[0].numpy()


@torch.no_grad()
def greedy(model, prompts: list[list[int]], count: int) -> list[list[int]]:
    """Continuations of prompts of equal length, in one batch."""
    ids = torch.tensor(prompts)
    out = model.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=count
    )
    return out[:, ids.shape[1] :].tolist()


def assisted(target, draft, prompt: list[int], count: int, k: int) -> tuple[list[int], Ledger]:
    """(continuation, ledger) of assisted generation that always proposes k tokens."""
    settings = draft.generation_config
    settings.num_assistant_tokens = k
    settings.num_assistant_tokens_schedule = "constant"
    settings.assistant_confidence_threshold = 0
    return counted(target, prompt, count, assistant_model=draft)


def looked_up(target, prompt: list[int], count: int, k: int, longest: int):
    """(continuation, ledger) of prompt lookup: k tokens after a match of at most `longest`."""
    return counted(
        target, prompt, count, prompt_lookup_num_tokens=k, max_matching_ngram_size=longest
    )


@torch.no_grad()
def counted(target, prompt: list[int], count: int, **settings) -> tuple[list[int], Ledger]:
    """(continuation, ledger); transformers counts nothing itself, so the target's calls are."""
    ledger, forward = Ledger(), target.forward

    def counting(*args, **kwargs):
        ledger.rounds += 1
        return forward(*args, **kwargs)

    # Only the target is wrapped: transformers reads the draft's signature.
    target.forward = counting
    try:
        ids = torch.tensor([prompt])
        out = target.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            do_sample=False,
            max_new_tokens=count,
            **settings,
        )
    finally:
        del target.forward
    tokens = out[0, len(prompt) :].tolist()
    ledger.accepted = len(tokens) - ledger.rounds
    return tokens, ledger
