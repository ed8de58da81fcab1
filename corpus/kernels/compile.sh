#!/bin/bash
# Compiles NAME/NAME.cu to NAME/NAME.ptx and, where the source has a twin, to NAME/NAME-fixed.ptx.
# Needs nvcc 13.4; CUDA_HOME is its folder. The PTX is committed so that tests need no compiler.
#   compile.sh [NAME...]
set -e
cd "$(dirname "$0")"
for name in ${@:-$(ls -d */ | tr -d /)}; do
  source=$name/$name.cu
  arch=$(sed -n 's/^\/\/ arch: //p' "$source")
  one() { # PTX FLAGS: without the paths and numbers of this machine
    "$CUDA_HOME/bin/nvcc" -std=c++17 -O3 -ptx -lineinfo -arch="$arch" $2 \
      -I"$CUDA_HOME/include" -I"$CUDA_HOME/include/cccl" "$source" -o "$1"
    sed -i -E -e 's/(\.file\s+[0-9]+) "[^"]*\/([^"\/]*)"/\1 "\2"/' -e 's/(_INTERNAL_)[0-9a-f]+(_)/\100000000\2/g' \
      -e '/^\.global .*__cpo/d' "$1"
  }
  one "$name/$name.ptx" ""
  if grep -q FIXED "$source"; then one "$name/$name-fixed.ptx" -DFIXED; fi
done
