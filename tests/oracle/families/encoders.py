"""Encoders, pairs of encoder and decoder, towers, and OPT, whose names are those of BART's decoder."""

from __future__ import annotations

from typing import Any

from .checkpoint import (
    HF,
    LAYER_NORM,
    QKVO,
    Checkpoint,
    Names,
    Sizes,
    Truth,
    add_block,
    add_norm,
    add_stack,
    llama_config,
    separate,
)


def opt_names(**others: Any) -> Names:
    biases = tuple(f"self_attn.{x}_proj.bias" for x in ("q", "k", "v", "out"))
    defaults: dict[str, Any] = {"norm": "self_attn_layer_norm.weight", "biases": biases, **LAYER_NORM}
    return separate(HF, "q k v out", **{**defaults, **others})


def opt(out: Checkpoint) -> Checkpoint:
    add_stack(out, "model.decoder.layers.{}.", opt_names(), Sizes())
    out.config = {**llama_config("opt", Sizes()), "do_layer_norm_before": True}
    del out.config["num_key_value_heads"]
    return out


def opt_post_norm(out: Checkpoint) -> Checkpoint:
    """OPT-350m: the same names, but the norm follows the block."""
    add_stack(out, "model.decoder.layers.{}.", opt_names(folded=False), Sizes())
    out.config = {**llama_config("opt", Sizes()), "do_layer_norm_before": False}
    return out


def cross(names: Names) -> Names:
    def renamed(text: str) -> str:
        return text.replace("self_attn", "encoder_attn")

    return Names(
        renamed(names.query),
        renamed(names.key),
        renamed(names.value),
        renamed(names.output),
        norm=renamed(names.norm),
        norm_kind=names.norm_kind,
        norm_bias=names.norm_bias,
        folded=names.folded,
        biases=tuple(renamed(x) for x in names.biases),
        cross=True,
    )


def add_encoder_decoder(out: Checkpoint, names: Names, encoder: Sizes, decoder: Sizes, memory_norm: str) -> None:
    memory = add_norm(out, memory_norm, encoder.d, names) if memory_norm else None
    for i in range(2):
        add_block(out, f"model.encoder.layers.{i}.", names, encoder)
        add_block(out, f"model.decoder.layers.{i}.", names, decoder)
        add_block(out, f"model.decoder.layers.{i}.", cross(names), decoder, memory)


def seq2seq_config(kind: str, encoder_heads: int, decoder_heads: int) -> dict[str, Any]:
    return {
        "model_type": kind,
        "d_model": 48,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_attention_heads": encoder_heads,
        "decoder_attention_heads": decoder_heads,
    }


def bart(out: Checkpoint) -> Checkpoint:
    """Norms after the blocks; a different number of heads in each stack."""
    decoder = Sizes(heads=4, kv=4, k=12)
    add_encoder_decoder(out, opt_names(folded=False), Sizes(), decoder, "")
    out.config = seq2seq_config("bart", 6, 4)
    return out


def whisper(out: Checkpoint) -> Checkpoint:
    """Norms in front, no key bias; cross-attention reads what the encoder's last norm gives."""
    biases = tuple(f"self_attn.{x}_proj.bias" for x in ("q", "v", "out"))
    add_encoder_decoder(out, opt_names(biases=biases), Sizes(), Sizes(), "model.encoder.layer_norm.weight")
    out.config = seq2seq_config("whisper", 6, 6)
    return out


def clip(out: Checkpoint) -> Checkpoint:
    """Two towers of different widths."""
    text, vision = Sizes(d=32, heads=4, kv=4, k=8), Sizes(d=48, heads=6, kv=6, k=8)
    add_stack(out, "text_model.encoder.layers.{}.", opt_names(norm="layer_norm1.weight"), text)
    add_stack(out, "vision_model.encoder.layers.{}.", opt_names(norm="layer_norm1.weight"), vision)
    out.config = {
        "model_type": "clip",
        "text_config": {"hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2},
        "vision_config": {"hidden_size": 48, "num_attention_heads": 6, "num_hidden_layers": 2},
    }
    return out


BERT = "attention.self.{}.weight"


def bert_names() -> Names:
    biases = tuple(f"attention.self.{x}.bias" for x in ("query", "key", "value"))
    names = separate(BERT, "query key value o", biases=biases)
    return Names(names.query, names.key, names.value, "attention.output.dense.weight", biases=biases)


def bert(out: Checkpoint, kind: str = "bert") -> Checkpoint:
    out.prefix = kind + "."
    add_stack(out, "encoder.layer.{}.", bert_names(), Sizes())
    for i in range(2):
        out.put(f"encoder.layer.{i}.attention.output.LayerNorm.weight", out.gain(48))
        out.put(f"encoder.layer.{i}.output.dense.weight", out.draw(48, 12))
    out.config = llama_config(kind, Sizes())
    del out.config["num_key_value_heads"]
    return out


def bert_bare(out: Checkpoint) -> Checkpoint:
    bert(out)
    out.tensors = {name.removeprefix("bert."): value for name, value in out.tensors.items()}
    out.truths = [Truth(t.tensor.removeprefix("bert."), t.layer, t.attention, t.weights) for t in out.truths]
    return out


def roberta(out: Checkpoint) -> Checkpoint:
    return bert(out, "roberta")


def electra(out: Checkpoint) -> Checkpoint:
    return bert(out, "electra")


def distilbert(out: Checkpoint) -> Checkpoint:
    out.prefix = "distilbert."
    add_stack(out, "transformer.layer.{}.", separate("attention.{}_lin.weight", "q k v out"), Sizes())
    for i in range(2):
        out.put(f"transformer.layer.{i}.sa_layer_norm.weight", out.gain(48))
    out.config = {"model_type": "distilbert", "dim": 48, "n_heads": 6, "n_layers": 2}
    return out


def albert(out: Checkpoint) -> Checkpoint:
    """One stored block for all layers."""
    at = "albert.encoder.albert_layer_groups.0.albert_layers.0."
    add_block(out, at, separate("attention.{}.weight", "query key value dense"), Sizes())
    out.config = {**llama_config("albert", Sizes()), "num_hidden_layers": 12, "num_hidden_groups": 1}
    del out.config["num_key_value_heads"]
    return out


def modernbert(out: Checkpoint) -> Checkpoint:
    """No norm in front of layer 0."""
    names = Names(fused="attn.Wqkv.weight", output="attn.Wo.weight")
    normed = Names(fused="attn.Wqkv.weight", output="attn.Wo.weight", norm="attn_norm.weight", norm_kind="layer")
    for i in range(3):
        add_block(out, f"model.layers.{i}.", normed if i else names, Sizes())
    out.config, out.code = {**llama_config("modernbert", Sizes()), "num_hidden_layers": 3}, "S3"
    del out.config["num_key_value_heads"]
    return out


def vit_timm(out: Checkpoint) -> Checkpoint:
    """timm states no head count; it comes from a flag."""
    names = Names(
        fused="attn.qkv.weight",
        output="attn.proj.weight",
        norm="norm1.weight",
        biases=("attn.qkv.bias", "attn.proj.bias"),
        **LAYER_NORM,
    )
    add_stack(out, "blocks.{}.", names, Sizes())
    out.config, out.flags, out.code = None, ["--heads", "6"], "S3"
    return out


def vit_hf(out: Checkpoint) -> Checkpoint:
    out.prefix = "vit."
    names = Names(
        "attention.attention.query.weight",
        "attention.attention.key.weight",
        "attention.attention.value.weight",
        "attention.output.dense.weight",
        norm="layernorm_before.weight",
        **LAYER_NORM,
    )
    add_stack(out, "encoder.layer.{}.", names, Sizes())
    out.config = {**llama_config("vit", Sizes()), "image_size": 32}
    del out.config["num_key_value_heads"]
    return out


def torch_encoder(out: Checkpoint) -> Checkpoint:
    """torch.nn.TransformerEncoder: whether its norms come first is not in the file, so they are left alone."""
    names = Names(fused="self_attn.in_proj_weight", output="self_attn.out_proj.weight")
    add_stack(out, "layers.{}.", names, Sizes())
    for i in range(2):
        out.put(f"layers.{i}.self_attn.in_proj_bias", out.draw(144))
        out.put(f"layers.{i}.norm1.weight", out.gain(48))
    out.config, out.flags, out.code = None, ["--heads", "6"], "S3"
    return out


def torch_unequal(out: Checkpoint) -> Checkpoint:
    """torch.nn.MultiheadAttention with kdim: separate matrices, keys and values of another width."""
    names = Names("q_proj_weight", "k_proj_weight", "v_proj_weight", "out_proj.weight", cross=True)
    add_block(out, "attn.", names, Sizes(memory=20))
    out.put("attn.in_proj_bias", out.draw(144))
    out.config, out.flags = None, ["--heads", "6"]
    return out


def t5(out: Checkpoint) -> Checkpoint:
    """Three kinds of attention; heads * d_kv is not d_model."""
    s = Sizes(d=40, heads=6, kv=6, k=8)
    own = separate("layer.0.SelfAttention.{}.weight", QKVO, norm="layer.0.layer_norm.weight")
    other = separate("layer.1.EncDecAttention.{}.weight", QKVO, norm="layer.1.layer_norm.weight", cross=True)
    memory = add_norm(out, "encoder.final_layer_norm.weight", s.d, own)
    for i in range(2):
        add_block(out, f"encoder.block.{i}.", own, s)
        add_block(out, f"decoder.block.{i}.", own, s)
        add_block(out, f"decoder.block.{i}.", other, s, memory)
    out.config = {
        "model_type": "t5",
        "d_model": 40,
        "num_heads": 6,
        "d_kv": 8,
        "num_layers": 2,
        "num_decoder_layers": 2,
    }
    return out


BUILDERS = (
    opt,
    opt_post_norm,
    bart,
    whisper,
    clip,
    bert,
    bert_bare,
    roberta,
    electra,
    distilbert,
    albert,
    modernbert,
    vit_timm,
    vit_hf,
    torch_encoder,
    torch_unequal,
    t5,
)
