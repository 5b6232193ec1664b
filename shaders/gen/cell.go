package main

// cellVariants: the kernels of cell/.
func cellVariants() []variant {
	return []variant{
		{name: "cell_gate", source: "cell/gate.comp"},
		{name: "cell_quant16", source: "cell/quant16.comp"},
		{name: "cell_lstm", source: "cell/lstm.comp"},
		{name: "cell_gate8", source: "cell/gate8.comp"},
		{name: "cell_peephole", source: "cell/peephole.comp"},
		{name: "cell_deviation", source: "cell/deviation.comp"},
		{name: "cell_normalize", source: "cell/normalize.comp"},
		{name: "cell_state8", source: "cell/state8.comp"},
		{name: "cell_hidden8", source: "cell/hidden8.comp"},
		{name: "cell_project8", source: "cell/project8.comp"},
	}
}
