#!/usr/bin/env bash
# Published rows beside what the twins give: prints the summary as JSON, and fails where a document differs from it.
# validate.sh ARRAYLAB [--update]
set -euo pipefail
cd "$(dirname "$0")/.."
arraylab=$1
kept=crates/report/reference/validation.jsonl
document=docs/validation.md
begin='<!-- printed by `arraylab bench validation` -->'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$arraylab" bench validation --json | tee "$work/rows.jsonl"
"$arraylab" bench validation > "$work/tables.md"
{ sed "/^$begin\$/q" "$document"; echo; cat "$work/tables.md"; } > "$work/document.md"

if [ "${2:-}" = --update ]; then
    cp "$work/rows.jsonl" "$kept"
    cp "$work/document.md" "$document"
    exit 0
fi
status=0
diff -u "$kept" "$work/rows.jsonl" >&2 || status=1
diff -u "$document" "$work/document.md" >&2 || status=1
[ $status = 0 ] || echo "validate: the documents are not what the twins give now; make validate UPDATE=1 writes them" >&2
exit $status
