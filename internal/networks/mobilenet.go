package networks

// mobilenetV1 is that of Howard et al., "MobileNets", table 1, of width 1.
func mobilenetV1(n *network) {
	x := n.conv("first", n.image(), 32, window{3, 2, false}, relu6)
	for i, block := range []struct{ channels, stride int }{
		{64, 1}, {128, 2}, {128, 1}, {256, 2}, {256, 1}, {512, 2}, {512, 1}, {512, 1}, {512, 1}, {512, 1}, {512, 1}, {1024, 2}, {1024, 1},
	} {
		x = n.depthwise(numbered("block", i, "depthwise"), x, block.stride, relu6)
		x = n.conv(numbered("block", i, "pointwise"), x, block.channels, window{1, 1, false}, relu6)
	}
	n.classify(n.average(x), 8)
}

// mobilenetV2 is that of Sandler et al., "MobileNetV2", table 2, of width 1.
func mobilenetV2(n *network) {
	x := n.conv("first", n.image(), 32, window{3, 2, false}, relu6)
	depth, block := 32, 0
	for _, stage := range []struct{ expansion, channels, repeat, stride int }{
		{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1},
	} {
		for i := range stage.repeat {
			stride := stage.stride
			if i > 0 {
				stride = 1
			}
			y := x
			if stage.expansion > 1 {
				y = n.conv(numbered("block", block, "expand"), y, stage.expansion*depth, window{1, 1, false}, relu6)
			}
			y = n.depthwise(numbered("block", block, "depthwise"), y, stride, relu6)
			y = n.conv(numbered("block", block, "project"), y, stage.channels, window{1, 1, false}, linear)
			if i > 0 {
				y = n.add(numbered("block", block, "sum"), x, y, linear)
			}
			x, depth, block = y, stage.channels, block+1
		}
	}
	x = n.conv("last", x, 1280, window{1, 1, false}, relu6)
	n.classify(n.average(x), 2)
}
