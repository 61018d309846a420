"""The rows that stand for a picture, among ids by hand: what a prompt with media is made of."""
import numpy as np

import g4

with g4.Session() as session:
    pixels = np.zeros((96, 96, 3), np.uint8)  # [height, width, RGB]
    pixels[24:72, 24:72] = [255, 0, 0]
    print(g4.image_tokens(96, 96, budget=70), "tokens, without encoding")
    picture = session.encode_image(pixels, budget=70)
    print(picture, picture.rows.dtype, picture.rows.shape)

    begin, *rows, end = picture.placeholder_ids
    print(session.detokenize([begin, end], special=True), "and", len(rows), "negative ids, made of the content")
    logits = session.prefill(["Look: ", [begin], picture, [end], " What is it?"], logits="all")
    print(logits.shape, "logits, one row for each position")
