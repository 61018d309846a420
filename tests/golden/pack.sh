#!/usr/bin/env bash
# Makes models.tar.xz and SHA256SUMS from the folder of reference models: the same input gives the same bytes.
#   tests/golden/pack.sh [FOLDER]        FOLDER: default ../shared/models
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "${1:-$here/../../../shared/models}" && pwd)
cd "$source"
packed=(demo/README.md demo/expected.json demo/g4-demo-f32.gguf
        tiny/{dense31b,e2b,e4b,moe26b}-tiny/{README.md,goldens.safetensors,model.gguf}
        tiny/quant-tiny/{README.md,goldens.safetensors,model-{BF16,MIX,Q4_K,Q5_K,Q6_K}.gguf})
derived=(tiny/quant-tiny/model-{F16,Q8_0,Q4_0,Q4_1,Q5_0}.gguf)  # by derive_models.cc, from model-BF16.gguf
# The literal bits suit 4-byte values whose low bytes are often zero.
printf '%s\n' "${packed[@]}" | LC_ALL=C sort |
  tar --create --format=ustar --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=644 --files-from=- |
  xz --threads=1 --lzma2=preset=9e,lc=2,lp=2,pb=2 > "$here/models.tar.xz"
printf '%s\n' "${packed[@]}" "${derived[@]}" | LC_ALL=C sort | xargs sha256sum > "$here/SHA256SUMS"
ls -l "$here/models.tar.xz"
