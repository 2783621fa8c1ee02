#!/bin/sh
# Draws what the command shows as docs/terminal.svg: `sh docs/picture.sh > docs/terminal.svg`, with
# `weigh` on the path, from the root of the repository. A test compares the picture with a new run.
set -eu

show() {
    printf '\033[1m$\033[0m %s\n' "$*"
    "$@" --color always || true
}

{
    show weigh samples/tiny-llama-gptq
    echo
    show weigh inspect --quiet tests/files/pth/evil_os_system.pth
} | awk '
# The colours of the terminal that is drawn, by the numbers of their escapes.
BEGIN {
    colour["31"] = "#ff7b72"; colour["32"] = "#7ee787"; colour["33"] = "#e3b341"
    colour["34"] = "#79c0ff"; colour["35"] = "#d2a8ff"; colour["36"] = "#56d4dd"
    colour["90"] = "#8b949e"; colour["91"] = "#ff7b72"; colour["93"] = "#e3b341"
}

function escaped(text) {
    gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text); gsub(/>/, "\\&gt;", text)
    return text
}

# A stretch in the style of the moment.
function stretch(text) {
    if (text == "") return ""
    style = ""
    if (bold) style = style " font-weight=\"bold\""
    if (dim) style = style " fill=\"#8b949e\""
    if (fill != "" && !dim) style = style " fill=\"" fill "\""
    text = escaped(text)
    return style == "" ? text : "<tspan" style ">" text "</tspan>"
}

function apply(codes,    parts, count, i) {
    count = split(codes, parts, ";")
    if (count == 0) { bold = dim = 0; fill = "" }
    for (i = 1; i <= count; i++) {
        if (parts[i] == "" || parts[i] == "0") { bold = dim = 0; fill = "" }
        else if (parts[i] == "1") bold = 1
        else if (parts[i] == "2") dim = 1
        else if (parts[i] in colour) fill = colour[parts[i]]
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
    width = int(widest * 8.43) + 40; height = NR * 18 + 32
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\">\n", width, height, width, height
    print "<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#0d1117\"/>"
    print "<g font-family=\"monospace\" font-size=\"14\" fill=\"#e6edf3\">"
    for (i = 1; i <= NR; i++)
        printf "<text x=\"20\" y=\"%d\" xml:space=\"preserve\">%s</text>\n", i * 18 + 14, lines[i]
    print "</g>"
    print "</svg>"
}'
