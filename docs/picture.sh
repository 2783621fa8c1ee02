#!/bin/sh
# Draws what the command shows as docs/terminal.svg: `sh docs/picture.sh > docs/terminal.svg`, with
# `weigh` on the path, from the root of the repository. A test compares the picture with a new run.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A model with one row of zeros, and the GGUF file that was made of the model before.
mkdir "$work/qwen3"
cp tests/files/names/qwen3-q8/hf/* "$work/qwen3"
dd if=/dev/zero of="$work/qwen3/model.safetensors" bs=1 seek=8728 count=128 conv=notrunc 2>/dev/null
cp tests/files/names/qwen3-q8/model.gguf "$work/qwen3-q8_0.gguf"
cp -R samples/tiny-llama-gptq "$work/tiny-llama-gptq"
cd "$work"

show() {
    printf '\033[1;32m$\033[0m \033[1m%s\033[0m\n' "$*"
    "$@" --color always || true
}

# Times and memory differ from run to run, and long notes do not fit.
{
    show weigh diff qwen3 qwen3-q8_0.gguf --limit 2 | sed '/metadata:/d; /note:/d; /cost:/d'
    echo
    show weigh quantize tiny-llama-gptq -o tiny.gguf --type Q4_K_M --allow-requantize |
        sed '/took/d; /note:/d; /next:/d' | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'
} 2>&1 | awk '
# Escapes of the terminal as classes; the style sheet gives each a colour for light and for dark.
BEGIN {
    split("31 32 33 34 35 36 90 91 92 93 94 95 96", codes, " ")
    for (i in codes) is_colour[codes[i]] = 1
}

function escaped(text) {
    gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text); gsub(/>/, "\\&gt;", text)
    return text
}

# A stretch in the style of the moment.
function stretch(text,    names) {
    if (text == "") return ""
    names = ""
    if (bold) names = names " b"
    if (dim) names = names " d"
    else if (colour != "") names = names " c" colour
    text = escaped(text)
    return names == "" ? text : "<tspan class=\"" substr(names, 2) "\">" text "</tspan>"
}

function apply(codes,    parts, count, i) {
    count = split(codes, parts, ";")
    if (count == 0) { bold = dim = 0; colour = "" }
    for (i = 1; i <= count; i++) {
        if (parts[i] == "" || parts[i] == "0") { bold = dim = 0; colour = "" }
        else if (parts[i] == "1") bold = 1
        else if (parts[i] == "2") dim = 1
        else if (parts[i] in is_colour) colour = parts[i] > 90 ? parts[i] - 60 : parts[i]
    }
}

{
    line = ""; plain = 0; rest = $0
    while (match(rest, /\033\[[0-9;]*m/)) {
        before = substr(rest, 1, RSTART - 1)
        line = line stretch(before); plain += length(before)
        apply(substr(rest, RSTART + 2, RLENGTH - 3))
        rest = substr(rest, RSTART + RLENGTH)
    }
    line = line stretch(rest); plain += length(rest)
    lines[NR] = line
    if (plain > widest) widest = plain
}

END {
    width = int(widest * 8.43) + 44; height = NR * 18 + 66
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\">\n", width, height, width, height
    print "<style>"
    print ".w{fill:#0d1117;stroke:#484f58}.t{fill:#8b949e;font:13px sans-serif}"
    print "text.l{fill:#e6edf3;font:14px ui-monospace,Menlo,Consolas,\"DejaVu Sans Mono\",monospace;white-space:pre}"
    print ".b{font-weight:bold}.d,.c90{fill:#8b949e}.c31{fill:#ff7b72}.c32{fill:#7ee787}.c33{fill:#e3b341}.c34{fill:#79c0ff}.c35{fill:#d2a8ff}.c36{fill:#56d4dd}"
    print "@media(prefers-color-scheme:light){.w{fill:#ffffff;stroke:#d0d7de}.t{fill:#57606a}text.l{fill:#1f2328}"
    print ".d,.c90{fill:#57606a}.c31{fill:#cf222e}.c32{fill:#116329}.c33{fill:#7d4e00}.c34{fill:#0550ae}.c35{fill:#8250df}.c36{fill:#1b7c83}}"
    print "</style>"
    printf "<rect class=\"w\" x=\"1\" y=\"1\" width=\"%d\" height=\"%d\" rx=\"10\"/>\n", width - 2, height - 2
    print "<circle cx=\"22\" cy=\"20\" r=\"6\" fill=\"#ff5f57\"/><circle cx=\"42\" cy=\"20\" r=\"6\" fill=\"#febc2e\"/><circle cx=\"62\" cy=\"20\" r=\"6\" fill=\"#28c840\"/>"
    printf "<text class=\"t\" x=\"%d\" y=\"25\" text-anchor=\"middle\">weigh</text>\n", width / 2
    for (i = 1; i <= NR; i++)
        printf "<text class=\"l\" x=\"20\" y=\"%d\" xml:space=\"preserve\">%s</text>\n", i * 18 + 36, lines[i]
    print "</svg>"
}'
