# SPDX-License-Identifier: Apache-2.0
"""usage: random_gguf.py FILE

Writes a language model of random weights: 0.5 MB, GGUF version 3, architecture "llama".  What it says
means nothing; that it says it, how often it makes tool calls and when it stops is steered:

The first dimension of its residual stream is the same for every token and no layer writes to it, so
that `output.weight[token][0]` is a bias of that token.
"""
import array
import random
import struct
import sys

WIDTH = 64
BLOCKS = 2
HEADS = 4
INNER = 128
CONTEXT = 8192

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = 1, 2, 3, 4, 6
SPECIAL = [("<unk>", UNKNOWN), ("<|im_start|>", CONTROL), ("<|im_end|>", CONTROL),
           ("<tool_call>", USER_DEFINED), ("</tool_call>", USER_DEFINED)]
SPACE = "\u2581"  # the tokenizer's own sign
LETTERS = [SPACE] + [chr(code) for code in range(0x21, 0x7f)] + ["\n"]
# Numbers were found by trying: answers of some dozen letters, every second one with a tool call.
BIAS = {"<tool_call>": 2.0, "</tool_call>": 1.5, '"': 2.2, "}": 0.8, "<|im_end|>": 1.9}
BIAS_OF_LETTERS = 0.4
BIAS_OF_OTHERS = -4.0

# The JSON stands right behind <tool_call>: a newline would have to be drawn first.
TEMPLATE = """\
{%- if tools %}<|im_start|>system
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}Answer with <tool_call>{"name": NAME, "arguments": OBJECT}</tool_call><|im_end|>
{% endif -%}
{%- for message in messages -%}
<|im_start|>{{ message.role }}
{{ message.content }}{% if message.tool_calls %}{% for call in message.tool_calls %}\
<tool_call>{{ call.function | tojson }}</tool_call>{% endfor %}{% endif %}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt -%}
<|im_start|>assistant
{% endif -%}"""


def tokens():
    """(text, type) in order."""
    return SPECIAL + [(f"<0x{byte:02X}>", BYTE) for byte in range(256)] + \
        [(letter, NORMAL) for letter in LETTERS]


# ---- numbers -------------------------------------------------------------------------------------

def matrix(dice, rows, columns, spread):
    """Rows after one another, the dimension that is contiguous last."""
    return [[dice.gauss(0, spread) for _ in range(columns)] for _ in range(rows)]


def ones(count):
    return [[1.0] * count]


def silent(rows):
    """A matrix that writes nothing to the first dimension."""
    rows[0] = [0.0] * len(rows[0])
    return rows


def embedding(dice, vocabulary):
    rows = matrix(dice, len(vocabulary), WIDTH, 1.0)
    for row in rows:
        row[0] = 8.0
    return rows


def output(dice, vocabulary):
    rows = matrix(dice, len(vocabulary), WIDTH, 0.1)
    for row, (text, kind) in zip(rows, vocabulary):
        usual = BIAS_OF_LETTERS if kind == NORMAL and text != "\n" else BIAS_OF_OTHERS
        row[0] = BIAS.get(text, usual)
    return rows


def tensors(dice, vocabulary):
    """name -> rows; one row is a vector."""
    found = {"token_embd.weight": embedding(dice, vocabulary)}
    for block in range(BLOCKS):
        here = f"blk.{block}."
        found[here + "attn_norm.weight"] = ones(WIDTH)
        for name in ("attn_q", "attn_k", "attn_v"):
            found[f"{here}{name}.weight"] = matrix(dice, WIDTH, WIDTH, 0.3)
        found[here + "attn_output.weight"] = silent(matrix(dice, WIDTH, WIDTH, 0.3))
        found[here + "ffn_norm.weight"] = ones(WIDTH)
        found[here + "ffn_gate.weight"] = matrix(dice, INNER, WIDTH, 0.3)
        found[here + "ffn_up.weight"] = matrix(dice, INNER, WIDTH, 0.3)
        found[here + "ffn_down.weight"] = silent(matrix(dice, WIDTH, INNER, 0.3))
    found["output_norm.weight"] = ones(WIDTH)
    found["output.weight"] = output(dice, vocabulary)
    return found


# ---- the file ------------------------------------------------------------------------------------

U32, I32, F32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
PACKED = {U32: "<I", I32: "<i", F32: "<f", BOOL: "<?"}
ALIGNMENT = 32


def string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def value(kind, content):
    if kind == STRING:
        return string(content)
    return struct.pack(PACKED[kind], content)


def entry(key, kind, content):
    return string(key) + struct.pack("<I", kind) + value(kind, content)


def list_entry(key, kind, contents):
    head = struct.pack("<IIQ", ARRAY, kind, len(contents))
    return string(key) + head + b"".join(value(kind, content) for content in contents)


def facts(vocabulary):
    names = [text for text, _ in vocabulary]
    return [
        entry("general.architecture", STRING, "llama"),
        entry("general.name", STRING, "random"),
        entry("llama.context_length", U32, CONTEXT),
        entry("llama.embedding_length", U32, WIDTH),
        entry("llama.block_count", U32, BLOCKS),
        entry("llama.feed_forward_length", U32, INNER),
        entry("llama.attention.head_count", U32, HEADS),
        entry("llama.attention.layer_norm_rms_epsilon", F32, 1e-5),
        entry("llama.rope.dimension_count", U32, WIDTH // HEADS),
        entry("tokenizer.ggml.model", STRING, "llama"),
        list_entry("tokenizer.ggml.tokens", STRING, names),
        list_entry("tokenizer.ggml.scores", F32, [0.0] * len(names)),
        list_entry("tokenizer.ggml.token_type", I32, [kind for _, kind in vocabulary]),
        entry("tokenizer.ggml.unknown_token_id", U32, names.index("<unk>")),
        entry("tokenizer.ggml.bos_token_id", U32, names.index("<|im_start|>")),
        entry("tokenizer.ggml.eos_token_id", U32, names.index("<|im_end|>")),
        entry("tokenizer.ggml.add_bos_token", BOOL, False),
        entry("tokenizer.ggml.add_space_prefix", BOOL, False),
        entry("tokenizer.chat_template", STRING, TEMPLATE),
    ]


def padded(data):
    return data + bytes(-len(data) % ALIGNMENT)


def model(seed=1):
    """The bytes of the file."""
    vocabulary = tokens()
    weights = tensors(random.Random(seed), vocabulary)
    infos, data = [], b""
    for name, rows in weights.items():
        shape = [len(rows[0])] + ([len(rows)] if len(rows) > 1 else [])
        infos.append(string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, len(data)))
        data += padded(b"".join(array.array("f", row).tobytes() for row in rows))
    known = facts(vocabulary)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(known))
    return padded(head + b"".join(known) + b"".join(infos)) + data


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], "wb") as file:
        file.write(model())
