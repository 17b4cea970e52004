#!/usr/bin/env bash
# Published rows beside what the twins give: prints the summary as JSON, and fails where a document differs from it.
# validate.sh ARRAYLAB [--update]
set -euo pipefail
cd "$(dirname "$0")/.."
arraylab=$1
kept=crates/findings/reference/validation.jsonl
document=docs/validation.md
begin='<!-- printed by `arraylab bench validation` -->'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/new"
"$arraylab" bench validation --json --write "$work/new"
{ sed "/^$begin\$/q" "$document"; echo; cat "$work/new/validation.md"; } > "$work/document.md"

if [ "${2:-}" = --update ]; then
    cp "$work/new/validation.jsonl" "$kept"
    cp "$work/document.md" "$document"
    cp "$work"/new/validation-*.svg docs/
    exit 0
fi
status=0
diff -u "$kept" "$work/new/validation.jsonl" >&2 || status=1
diff -u "$document" "$work/document.md" >&2 || status=1
for picture in "$work"/new/validation-*.svg; do
    cmp "docs/$(basename "$picture")" "$picture" >&2 || status=1
done
[ $status = 0 ] || echo "validate: the documents are not what the twins give now; make validate UPDATE=1 writes them" >&2
exit $status
