#!/usr/bin/env bash
# Makes media.tar.xz and SHA256SUMS.media, the models that see and hear, as pack.sh does for the others.
#   tests/golden/pack_media.sh [FOLDER]        FOLDER: default ../shared/models
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "${1:-$here/../../../shared/models}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for model in mm-tiny mm31b-tiny; do
  mkdir -p "$scratch/tiny/$model"
  cp "$source/tiny/$model/"{mmproj,model}.gguf "$scratch/tiny/$model/"
  python3 "$here/pick_media.py" "$source/tiny/$model/goldens.safetensors" "$scratch/tiny/$model/goldens.safetensors"
done
cd "$scratch"
find tiny -type f | LC_ALL=C sort > files
tar --create --format=ustar --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=644 --files-from=files |
  xz --threads=1 --lzma2=preset=9e,lc=2,lp=2,pb=2 > "$here/media.tar.xz"
xargs sha256sum < files > "$here/SHA256SUMS.media"
ls -l "$here/media.tar.xz"
