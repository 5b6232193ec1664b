// Boxes: x1, y1, x2, y2, or y1, x1, y2, x2 for functions that treat both coordinates alike.
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

// Whether the intersection of a and b over their union is `least` or more; false if the union has no area. The quotient is
// compared, as in the HAL's reference implementation: at the threshold, `least` times the union would round differently.
bool overlap(vec4 a, vec4 b, float least) {
    vec2 sizeA = a.zw - a.xy, sizeB = b.zw - b.xy;
    vec2 both = max(min(a.zw, b.zw) - max(a.xy, b.xy), vec2(0.0));
    precise float shared_ = both.x * both.y;
    precise float areas = sizeA.x * sizeA.y + sizeB.x * sizeB.y;
    precise float all = areas - shared_;
    precise float part = shared_ / all;
    return all > 0.0 && part >= least;
}

#endif
