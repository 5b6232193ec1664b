package main

// cellVariants: the kernels of cell/.
func cellVariants() []variant {
	return []variant{
		{name: "cell_gate", source: "cell/gate.comp"},
		{name: "cell_quant16", source: "cell/quant16.comp"},
	}
}
