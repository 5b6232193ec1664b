package main

// boxVariants: the kernels of box/, which compute in float32.
func boxVariants() []variant {
	return []variant{
		{name: "roi_align", source: "box/roi_align.comp"},
		{name: "roi_pool", source: "box/roi_pool.comp"},
		{name: "bbox", source: "box/bbox.comp"},
		{name: "keypoint", source: "box/keypoint.comp"},
	}
}
