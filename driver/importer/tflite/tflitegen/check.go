package tflitegen

import "fmt"

func (m *Model) check() error {
	if len(m.Subgraphs) == 0 {
		return fmt.Errorf("a model needs a subgraph")
	}
	for i := range m.Subgraphs {
		if err := m.Subgraphs[i].check(); err != nil {
			return fmt.Errorf("subgraph %d: %w", i, err)
		}
	}
	return nil
}

func (g *Subgraph) check() error {
	for i := range g.Tensors {
		if err := g.Tensors[i].check(); err != nil {
			return fmt.Errorf("tensor %d (%s): %w", i, g.Tensors[i].Name, err)
		}
	}
	lists := []struct {
		what string
		list []int
	}{{"subgraph input", g.Inputs}, {"subgraph output", g.Outputs}}
	for _, l := range lists {
		if err := g.checkIndices(l.what, l.list, 0); err != nil {
			return err
		}
	}
	for i := range g.Operators {
		op := &g.Operators[i]
		if err := g.checkOp(op); err != nil {
			return fmt.Errorf("operator %d (code %d): %w", i, op.Code, err)
		}
	}
	return nil
}

func (g *Subgraph) checkOp(op *Op) error {
	if op.CustomCode != "" && op.Code != OpCustom {
		return fmt.Errorf("custom code %q on a builtin operator", op.CustomCode)
	}
	if err := g.checkIndices("input", op.Inputs, OptionalTensor); err != nil {
		return err
	}
	if err := g.checkIndices("output", op.Outputs, 0); err != nil {
		return err
	}
	return g.checkIndices("intermediate", op.Intermediates, 0)
}

func (g *Subgraph) checkIndices(what string, list []int, low int) error {
	for i, t := range list {
		if t < low || t >= len(g.Tensors) {
			return fmt.Errorf("%s %d is tensor %d, of %d", what, i, t, len(g.Tensors))
		}
	}
	return nil
}

func (t *Tensor) check() error {
	q := t.Quant
	if len(q.ZeroPoint) != len(q.Scale) {
		return fmt.Errorf("%d zero points for %d scales", len(q.ZeroPoint), len(q.Scale))
	}
	if len(q.Scale) > 1 && (q.Dim < 0 || q.Dim >= len(t.Shape) || t.Shape[q.Dim] != len(q.Scale)) {
		return fmt.Errorf("%d scales along dimension %d of shape %v", len(q.Scale), q.Dim, t.Shape)
	}
	if t.ShapeSignature != nil && len(t.ShapeSignature) != len(t.Shape) {
		return fmt.Errorf("shape signature %v for shape %v", t.ShapeSignature, t.Shape)
	}
	if t.Data == nil {
		return nil
	}
	if want, ok := sizeBytes(t.Type, t.Shape); ok && want != len(t.Data) {
		return fmt.Errorf("constant of %d bytes, %s of shape %v needs %d", len(t.Data), t.Type, t.Shape, want)
	}
	return nil
}
