package tflitegen

// RNNOptions belong to RNN.
type RNNOptions struct {
	union                    `number:"7"`
	Activation               Activation
	AsymmetricQuantizeInputs bool
}

// SequenceRNNOptions belong to UNIDIRECTIONAL_SEQUENCE_RNN.
type SequenceRNNOptions struct {
	union                    `number:"31"`
	TimeMajor                bool
	Activation               Activation
	AsymmetricQuantizeInputs bool
}

// BidirectionalSequenceRNNOptions belong to BIDIRECTIONAL_SEQUENCE_RNN.
type BidirectionalSequenceRNNOptions struct {
	union                    `number:"70"`
	TimeMajor                bool
	Activation               Activation
	MergeOutputs             bool
	AsymmetricQuantizeInputs bool
}

// SVDFOptions belong to SVDF.
type SVDFOptions struct {
	union                    `number:"6"`
	Rank                     int32
	Activation               Activation
	AsymmetricQuantizeInputs bool
}

// LSTMOptions belong to LSTM.
type LSTMOptions struct {
	union                    `number:"14"`
	Activation               Activation
	CellClip                 float32
	ProjClip                 float32
	KernelType               int8
	AsymmetricQuantizeInputs bool
}

// BidirectionalSequenceLSTMOptions belong to BIDIRECTIONAL_SEQUENCE_LSTM.
type BidirectionalSequenceLSTMOptions struct {
	union                    `number:"69"`
	Activation               Activation
	CellClip                 float32
	ProjClip                 float32
	MergeOutputs             bool
	TimeMajor                bool `default:"1"`
	AsymmetricQuantizeInputs bool
}

// UnidirectionalSequenceLSTMOptions belong to UNIDIRECTIONAL_SEQUENCE_LSTM.
type UnidirectionalSequenceLSTMOptions struct {
	union                    `number:"71"`
	Activation               Activation
	CellClip                 float32
	ProjClip                 float32
	TimeMajor                bool
	AsymmetricQuantizeInputs bool
	DiagonalRecurrentTensors bool
}
