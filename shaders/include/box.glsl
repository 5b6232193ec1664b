// Boxes: x1, y1, x2, y2.
#ifndef NNGPU_BOX
#define NNGPU_BOX

// box, moved and resized by deltas dx, dy, dw, dh, and cut at the edges of an image of that height and width.
vec4 transformed(vec4 box, vec4 delta, vec2 image) {
    vec2 size = box.zw - box.xy;
    vec2 centre = (box.xy + box.zw) * 0.5 + delta.xy * size;
    vec2 half_ = exp(delta.zw) * size * 0.5;
    vec4 to = vec4(centre - half_, centre + half_);
    return clamp(to, vec4(0.0), image.yxyx);
}

#endif
