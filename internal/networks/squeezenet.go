package networks

// squeezenet is version 1.1 of Iandola et al., "SqueezeNet".
func squeezenet(n *network) {
	x := n.conv("first", n.image(), 64, window{3, 2, true}, relu)
	for i, fire := range []struct {
		squeeze, expand int
		pool            bool // before it
	}{
		{16, 64, true}, {16, 64, false}, {32, 128, true}, {32, 128, false},
		{48, 192, true}, {48, 192, false}, {64, 256, false}, {64, 256, false},
	} {
		if fire.pool {
			x = n.maxPool(x, true)
		}
		name := numbered("fire", i+2, "expand")
		x = n.conv(numbered("fire", i+2, "squeeze"), x, fire.squeeze, window{1, 1, false}, relu)
		x = n.concatenate(name, 3,
			n.convAs(name+"1x1", name, x, fire.expand, window{1, 1, false}, relu, 1),
			n.convAs(name+"3x3", name, x, fire.expand, window{3, 1, false}, relu, 1))
	}
	x = n.conv("last", x, classes, window{1, 1, false}, relu)
	n.output(n.b.Softmax(n.average(x), 1, -1))
}
