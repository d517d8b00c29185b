"""Files of models that nothing was tuned for, of timm and of transformers.

    python benchmarks/other_models.py FOLDER
    python benchmarks/programs.py FOLDER/timm FOLDER/transformers --gpu --jobs 14
    python benchmarks/training.py FOLDER/timm/poolformer_s12.py --gpu

Each is a file as `programs.py` takes them, with random weights. Those of timm see 16
images, in the element types and memory formats of `LAID` in turn; those of transformers
have two layers (an encoder and a decoder of two each) of the width of a real one.
"""

from __future__ import annotations

import argparse
from pathlib import Path

LAID = (
    ("bfloat16", "channels_last"),
    ("float32", "contiguous_format"),
    ("bfloat16", "contiguous_format"),
    ("float32", "channels_last"),
)
TIMM = (
    "resnext50_32x4d", "regnety_016", "densenet121", "mobilenetv3_large_100",
    "mixer_b16_224", "coatnet_0_rw_224", "maxvit_tiny_rw_224",
    "eva02_small_patch14_224", "deit3_small_patch16_224", "poolformer_s12",
    "inception_v4", "xception41", "hrnet_w18", "nfnet_l0", "ghostnet_100",
    "cspdarknet53", "convnextv2_tiny", "edgenext_small", "mobilevit_s", "levit_256",
    "pvt_v2_b1", "twins_svt_small", "swinv2_tiny_window8_256", "efficientformer_l1",
    "rexnet_100", "res2net50_26w_4s", "seresnet50", "focalnet_tiny_srf", "fastvit_t8",
    "repvgg_a2",
)  # fmt: skip
SIDES = {"inception_v4": 299, "xception41": 299, "swinv2_tiny_window8_256": 256}
"""Pixels a side; of others 224."""

TYPES = "bfloat16", "bfloat16", "float32", "float16"
"""Of models of transformers, in turn."""
TOKENS = "torch.randint(0, 1000, (4, 512))"
IMAGES = "torch.randn(4, 3, 224, 224, dtype=torch.{type})"
SOUND = "torch.randn(4, 32000, dtype=torch.{type})"
NARROW: dict[str, object] = {"vocab_size": 1000, "num_hidden_layers": 2}
USUAL: dict[str, object] = {
    **NARROW, "hidden_size": 1024, "num_attention_heads": 16, "intermediate_size": 4096,
}  # fmt: skip
GROUPED: dict[str, object] = {**USUAL, "num_key_value_heads": 4}
BART: dict[str, object] = {
    "vocab_size": 1000, "d_model": 1024, "encoder_layers": 2, "decoder_layers": 2,
    "encoder_attention_heads": 16, "decoder_attention_heads": 16,
    "encoder_ffn_dim": 4096, "decoder_ffn_dim": 4096,
}  # fmt: skip
FEW: dict[str, object] = {"num_hidden_layers": 2}
TRANSFORMERS: dict[str, tuple[str, dict[str, object], str]] = {
    "gpt2": (
        "GPT2", {"vocab_size": 1000, "n_embd": 1024, "n_layer": 2, "n_head": 16}, TOKENS
    ),
    "opt": (
        "OPT",
        {**NARROW, "hidden_size": 1024, "num_attention_heads": 16, "ffn_dim": 4096,
         "word_embed_proj_dim": 1024},
        TOKENS,
    ),
    "mistral": ("Mistral", {**GROUPED, "sliding_window": 256}, TOKENS),
    "gemma2": ("Gemma2", {**GROUPED, "head_dim": 64, "sliding_window": 256}, TOKENS),
    "phi3": ("Phi3", {**GROUPED, "pad_token_id": 0}, TOKENS),
    "roberta": ("Roberta", {**USUAL, "max_position_embeddings": 600}, TOKENS),
    "electra": ("Electra", {**USUAL, "embedding_size": 256}, TOKENS),
    "albert": ("Albert", USUAL, TOKENS),
    "debertav2": (
        "DebertaV2",
        {**USUAL, "relative_attention": True, "pos_att_type": ["p2c", "c2p"],
         "position_buckets": 256, "norm_rel_ebd": "layer_norm", "share_att_key": True},
        TOKENS,
    ),
    "bart": ("Bart", BART, TOKENS),
    "mamba": ("Mamba", {**NARROW, "hidden_size": 768}, TOKENS),
    "falcon": (
        "Falcon",
        {**NARROW, "hidden_size": 1024, "num_attention_heads": 16, "num_kv_heads": 4,
         "new_decoder_architecture": True},
        TOKENS,
    ),
    "neox": ("GPTNeoX", USUAL, TOKENS),
    "dinov2": (
        "Dinov2", {**FEW, "hidden_size": 768, "num_attention_heads": 12}, IMAGES
    ),
    "segformer": ("Segformer", {}, IMAGES),
    "clipvision": ("CLIPVision", FEW, IMAGES),
    "wav2vec2": ("Wav2Vec2", FEW, SOUND),
    "olmoe": (
        "Olmoe",
        {**USUAL, "num_key_value_heads": 16, "intermediate_size": 1024,
         "num_experts": 16, "num_experts_per_tok": 4},
        TOKENS,
    ),
    "t5gated": (
        "T5Encoder",
        {"vocab_size": 1000, "d_model": 1024, "num_layers": 2, "num_heads": 16,
         "d_ff": 4096, "feed_forward_proj": "gated-gelu"},
        TOKENS,
    ),
    "conformer": ("Wav2Vec2Conformer", FEW, SOUND),
}  # fmt: skip
"""What transformers calls the model, its configuration, and its input."""
WITH_CACHES = {
    "gpt2", "opt", "mistral", "gemma2", "phi3", "bart", "mamba", "falcon", "neox",
    "olmoe",
}  # fmt: skip
"""Models that are to keep nothing for a next token."""

OF_TIMM = """import timm
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        made = timm.create_model("{name}")
        self.model = made.to(dtype=torch.{type}, memory_format=torch.{format})

    def forward(self, x):
        return self.model(x)


def get_inputs():
    x = torch.randn(16, 3, {side}, {side}, dtype=torch.{type})
    return [x.to(memory_format=torch.{format})]
"""
OF_TRANSFORMERS = """import torch
from transformers import {config}Config, {model}Model


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = {model}Model({config}Config(**{given!r})).to(torch.{type})

    def forward(self, x):
        return self.model(x{more})[0]


def get_inputs():
    return [{input}]
"""


def written(folder: Path) -> list[Path]:
    """Write all files, and return where they are."""
    texts: dict[str, str] = {}
    for number, name in enumerate(TIMM):
        kind, laid = LAID[number % len(LAID)]
        texts[f"timm/{name}"] = OF_TIMM.format(
            name=name, type=kind, format=laid, side=SIDES.get(name, 224)
        )
    for number, (name, (model, given, inputs)) in enumerate(TRANSFORMERS.items()):
        kind = TYPES[number % len(TYPES)]
        texts[f"transformers/{name}"] = OF_TRANSFORMERS.format(
            model=model,
            config=model.removesuffix("Encoder"),
            given=given,
            type=kind,
            more=", use_cache=False" if name in WITH_CACHES else "",
            input=inputs.format(type=kind),
        )
    found: list[Path] = []
    for name, text in texts.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        found.append(path)
    return found


def main() -> None:
    """Write the files where the command says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    print(f"{len(written(parser.parse_args().folder))} files")


if __name__ == "__main__":
    main()
