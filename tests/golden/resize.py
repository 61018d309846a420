#!/usr/bin/env python3
"""Makes resize.bin: pictures as Pillow resizes them. The input of each case is a formula that image_test.cc repeats.

Record: four int32 (width, height, new width, new height), then the RGB bytes of the result.
"""
import os
import struct

import numpy as np
from PIL import Image

CASES = [(100, 60, 48, 48), (7, 5, 96, 48), (48, 48, 48, 48), (1, 200, 48, 96), (333, 17, 144, 48), (50, 96, 48, 96), (1, 1, 48, 48)]

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "resize.bin"), "wb") as out:
    for width, height, new_width, new_height in CASES:
        y, x, c = np.mgrid[0:height, 0:width, 0:3]
        pixels = ((x * x * 7 + y * 31 + x * y * 3 + c * 85) % 256).astype(np.uint8)
        result = Image.fromarray(pixels).resize((new_width, new_height), Image.Resampling.BICUBIC)
        out.write(struct.pack("<4i", width, height, new_width, new_height) + np.asarray(result).tobytes())
