package networks

// resnet50 is that of He et al., "Deep Residual Learning", table 1, with the strides of its later form (1.5) in the
// convolutions of 3x3, and SAME padding.
func resnet50(n *network) {
	x := n.maxPool(n.conv("first", n.image(), 64, window{7, 2, false}, relu), false)
	block := 0
	for stage, repeat := range []int{3, 4, 6, 3} {
		width := 64 << stage
		for i := range repeat {
			stride, shortcut := 1, x
			if i == 0 {
				if stage > 0 {
					stride = 2
				}
				shortcut = n.conv(numbered("block", block, "shortcut"), x, 4*width, window{1, stride, false}, linear)
			}
			y := n.conv(numbered("block", block, "reduce"), x, width, window{1, 1, false}, relu)
			y = n.conv(numbered("block", block, "window"), y, width, window{3, stride, false}, relu)
			// Smaller, so that sums do not grow from block to block.
			name := numbered("block", block, "expand")
			y = n.convAs(name, name, y, 4*width, window{1, 1, false}, linear, 0.5)
			x = n.add(numbered("block", block, "sum"), shortcut, y, relu)
			block++
		}
	}
	n.classify(n.average(x), 2)
}
