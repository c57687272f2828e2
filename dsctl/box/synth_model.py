# pyright: basic, reportMissingImports=false
"""Makes a small model with random weights on the box, from a seed: the same spec gives the same bytes.

    synth_model.py --dir DIR --spec JSON        (run by the engine environment's Python)

Knows two architectures: ``qwen2`` (that of DeepSeek-R1-Distill-Qwen) and ``deepseek_v2`` (MLA and MoE). The
tokenizer is a byte-level BPE trained on made-up words, so any text can be encoded and counts are realistic.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
from pathlib import Path

SPECIAL = ("<|end|>", "<|system|>", "<|user|>", "<|assistant|>")
CHAT_TEMPLATE = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
SYLLABLES = ("ba", "ko", "ri", "ta", "mu", "se", "lo", "ni", "pa", "du", "ve", "xi")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", required=True, type=Path)
    parser.add_argument("--spec", required=True, type=json.loads)
    arguments = parser.parse_args()
    target = arguments.dir
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(dir=target.parent, prefix=f"{target.name}.partial-"))
    try:
        parameters = make(partial, arguments.spec)
        (partial / ".ready").write_text(json.dumps(arguments.spec))
        if not target.exists():
            partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    print(json.dumps({"dir": str(target), "parameters": parameters}))
    return 0


def make(folder: Path, spec: dict) -> int:
    """Write tokenizer, configuration and weights into ``folder``; return the number of parameters."""
    import torch
    from transformers import AutoModelForCausalLM

    _tokenizer(spec).save_pretrained(folder)
    torch.manual_seed(spec["seed"])
    model = AutoModelForCausalLM.from_config(_config(spec)).to(torch.bfloat16)
    model.save_pretrained(folder)
    return sum(p.numel() for p in model.parameters())


def _tokenizer(spec: dict):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    rng = random.Random(spec["seed"])
    words = ["".join(rng.choices(SYLLABLES, k=rng.randint(1, 4))) for _ in range(2000)]
    corpus = [" ".join(rng.choices(words, k=50)) for _ in range(2000)]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=spec["vocab"], special_tokens=list(SPECIAL), initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(corpus, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=SPECIAL[0], pad_token=SPECIAL[0])
    fast.chat_template = CHAT_TEMPLATE
    return fast


def _config(spec: dict):
    from transformers import DeepseekV2Config, Qwen2Config

    common = {
        "vocab_size": spec["vocab"], "hidden_size": spec["hidden"], "intermediate_size": 2 * spec["hidden"],
        "num_hidden_layers": spec["layers"], "num_attention_heads": spec["heads"],
        "num_key_value_heads": spec["kv_heads"], "max_position_embeddings": spec["max_positions"],
        "initializer_range": spec["initializer_range"], "tie_word_embeddings": True,
        "eos_token_id": 0, "pad_token_id": 0, "bos_token_id": None,
    }  # fmt: skip
    if spec["architecture"] == "qwen2":
        return Qwen2Config(**common)
    head = max(32, spec["hidden"] // spec["heads"])
    mla = {
        "num_key_value_heads": spec["heads"], "q_lora_rank": None, "kv_lora_rank": 64,
        "qk_nope_head_dim": head, "qk_rope_head_dim": 32, "v_head_dim": head,
        "n_routed_experts": 4, "num_experts_per_tok": 2, "n_shared_experts": 1,
        "moe_intermediate_size": spec["hidden"], "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1,
    }  # fmt: skip
    return DeepseekV2Config(**{**common, **mla})


if __name__ == "__main__":
    sys.exit(main())
