package tflitegen

// RNNOptions belong to RNN.
type RNNOptions struct {
	Activation               Activation
	AsymmetricQuantizeInputs bool
}

func (o RNNOptions) table() (byte, []Field) { return 7, fieldsOf(o) }

// SequenceRNNOptions belong to UNIDIRECTIONAL_SEQUENCE_RNN.
type SequenceRNNOptions struct {
	TimeMajor                bool
	Activation               Activation
	AsymmetricQuantizeInputs bool
}

func (o SequenceRNNOptions) table() (byte, []Field) { return 31, fieldsOf(o) }

// BidirectionalSequenceRNNOptions belong to BIDIRECTIONAL_SEQUENCE_RNN.
type BidirectionalSequenceRNNOptions struct {
	TimeMajor                bool
	Activation               Activation
	MergeOutputs             bool
	AsymmetricQuantizeInputs bool
}

func (o BidirectionalSequenceRNNOptions) table() (byte, []Field) { return 70, fieldsOf(o) }

// SVDFOptions belong to SVDF.
type SVDFOptions struct {
	Rank                     int32
	Activation               Activation
	AsymmetricQuantizeInputs bool
}

func (o SVDFOptions) table() (byte, []Field) { return 6, fieldsOf(o) }

// LSTMOptions belong to LSTM.
type LSTMOptions struct {
	Activation               Activation
	CellClip                 float32
	ProjClip                 float32
	KernelType               int8
	AsymmetricQuantizeInputs bool
}

func (o LSTMOptions) table() (byte, []Field) { return 14, fieldsOf(o) }

// BidirectionalSequenceLSTMOptions belong to BIDIRECTIONAL_SEQUENCE_LSTM.
type BidirectionalSequenceLSTMOptions struct {
	Activation               Activation
	CellClip                 float32
	ProjClip                 float32
	MergeOutputs             bool
	TimeMajor                bool `default:"1"`
	AsymmetricQuantizeInputs bool
}

func (o BidirectionalSequenceLSTMOptions) table() (byte, []Field) { return 69, fieldsOf(o) }

// UnidirectionalSequenceLSTMOptions belong to UNIDIRECTIONAL_SEQUENCE_LSTM.
type UnidirectionalSequenceLSTMOptions struct {
	Activation               Activation
	CellClip                 float32
	ProjClip                 float32
	TimeMajor                bool
	AsymmetricQuantizeInputs bool
	DiagonalRecurrentTensors bool
}

func (o UnidirectionalSequenceLSTMOptions) table() (byte, []Field) { return 71, fieldsOf(o) }
