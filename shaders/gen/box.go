package main

// boxVariants: the kernels of box/, which compute in float32.
func boxVariants() []variant {
	return []variant{
		{name: "roi_align", source: "box/roi_align.comp"},
		{name: "roi_pool", source: "box/roi_pool.comp"},
		{name: "bbox", source: "box/bbox.comp"},
		{name: "keypoint", source: "box/keypoint.comp"},
		{name: "anchors", source: "box/anchors.comp"},
		{name: "scores_best", source: "box/scores.comp", defines: map[string]string{"BEST": "1"}},
		{name: "scores_classes", source: "box/scores.comp", defines: map[string]string{"CLASSES": "1"}},
		{name: "scores_chosen", source: "box/scores.comp", defines: map[string]string{"CHOSEN": "1"}},
		{name: "suppress_compare", source: "box/suppress.comp", defines: map[string]string{"COMPARE": "1"}},
		{name: "suppress_choose", source: "box/suppress.comp", defines: map[string]string{"CHOOSE": "1"}},
		{name: "detections", source: "box/detections.comp"},
		{name: "proposals_decode", source: "box/proposals.comp", defines: map[string]string{"DECODE": "1"}},
		{name: "proposals_filter", source: "box/proposals.comp", defines: map[string]string{"FILTER": "1"}},
		{name: "proposals_take", source: "box/proposals.comp", defines: map[string]string{"TAKE": "1"}},
		{name: "detections_classes", source: "box/detections.comp", defines: map[string]string{"CLASSES": "1"}},
		{name: "nms_select", source: "box/nms_select.comp"},
		{name: "nms_limit", source: "box/nms_limit.comp"},
		{name: "nms_sum", source: "box/nms_sum.comp"},
		{name: "nms_take", source: "box/nms_take.comp"},
		{name: "nms_take_boxes", source: "box/nms_take.comp", defines: map[string]string{"BOXES": "1"}},
	}
}
