#!/bin/sh
# The book of docs/ with the pages of the repository's root, into target/book.
set -eu
mdbook=$1
target=$2
cd "$(dirname "$0")/.."
mkdir -p "$target"
target=$(cd "$target" && pwd)
source=$target/book-source
rm -rf "$source" "$target/book"
mkdir -p "$source/src"
cp -r docs/. "$source/src"
mv "$source/src/book.toml" "$source"
# Pages of the root, whose links are relative to it.
page() {
    sed -e 's#](docs/#](#g' -e 's#](ARCHITECTURE.md#](architecture.md#g' -e 's#](CONTRIBUTING.md#](contributing.md#g' \
        -e 's#](CHANGELOG.md#](changelog.md#g' -e 's#](README.md#](introduction.md#g' "$1" >"$source/src/$2"
}
page README.md introduction.md
page CONTRIBUTING.md contributing.md
page ARCHITECTURE.md architecture.md
page CHANGELOG.md changelog.md
find "$source/src" -name '*.md' -exec sed -i -e 's#](../ARCHITECTURE.md#](architecture.md#g' -e 's#](../CONTRIBUTING.md#](contributing.md#g' \
    -e 's#](../README.md#](introduction.md#g' {} +
"$mdbook" build --dest-dir "$target/book" "$source"
echo "$target/book/index.html"
