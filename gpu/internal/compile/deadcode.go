package compile

import "github.com/nngpu/nngpu/gpu/internal/ir"

// removeDead drops nodes whose results nothing reads.
//
// Numerics: none.
func removeDead(g *ir.Graph) error {
	uses := g.Uses()
	keep := make([]bool, len(g.Nodes))
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		for _, id := range g.Nodes[i].Out {
			if uses[id] > 0 {
				keep[i] = true
			}
		}
		if !keep[i] {
			for _, id := range g.Nodes[i].In {
				if id != ir.None {
					uses[id]--
				}
			}
		}
	}
	nodes := g.Nodes[:0]
	for i := range g.Nodes {
		if keep[i] {
			nodes = append(nodes, g.Nodes[i])
		}
	}
	g.Nodes = nodes
	return nil
}
