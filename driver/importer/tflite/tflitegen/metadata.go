package tflitegen

import flatbuffers "github.com/google/flatbuffers/go"

// ModelInfo is the part of TFLite Support's ModelMetadata (file identifier "M001", metadata_schema.fbs 1.1.0) that
// says how to feed the main subgraph and how to read what it gives.
type ModelInfo struct {
	Name, Description, Version string
	Author, License            string

	// Inputs and Outputs describe the main subgraph's inputs and outputs, in its order.
	Inputs, Outputs []TensorInfo
}

// TensorInfo describes one input or output.
type TensorInfo struct {
	Name, Description string

	// Image, when not nil, says that the tensor is a picture.
	Image *ImageInfo

	// Normalize, when not nil, is applied to an input before it is quantized.
	Normalize *Normalization

	// LabelFile names the file with one label a line for the tensor's last axis; "" for none. Model.Files may carry
	// the file itself.
	LabelFile string
}

// ImageInfo describes a picture.
type ImageInfo struct{ Color ColorSpace }

// ColorSpace values are the schema's ColorSpaceType.
type ColorSpace int8

// Color spaces.
const (
	ColorUnknown ColorSpace = 0
	ColorRGB     ColorSpace = 1
	ColorGray    ColorSpace = 2
)

// Normalization maps a sample x, 0 to 255 for pictures, to (x-Mean[c])/Std[c] of channel c. One value holds for
// all channels. Quantized models state what their float model needs; quantization follows.
type Normalization struct{ Mean, Std []float32 }

// Slots and union numbers below are those of metadata_schema.fbs.
const (
	metadataIdentifier   = "M001"
	minParserVersion     = "1.0.0"
	contentImage         = 2 // ContentProperties.ImageProperties
	processNormalization = 1 // ProcessUnitOptions.NormalizationOptions
	associatedAxisLabels = 2 // AssociatedFileType.TENSOR_AXIS_LABELS
)

func (m *ModelInfo) marshal() []byte {
	b := flatbuffers.NewBuilder(1 << 10)
	inputs := tensorInfos(b, m.Inputs)
	outputs := tensorInfos(b, m.Outputs)
	subgraph := writeTable(b, offsetField(2, inputs), offsetField(3, outputs))
	subgraphs := offsetVector(b, []flatbuffers.UOffsetT{subgraph})
	name := text(b, m.Name)
	description := text(b, m.Description)
	version := text(b, m.Version)
	author := text(b, m.Author)
	license := text(b, m.License)
	parser := b.CreateString(minParserVersion)
	root := writeTable(b,
		offsetField(0, name),
		offsetField(1, description),
		offsetField(2, version),
		offsetField(3, subgraphs),
		offsetField(4, author),
		offsetField(5, license),
		offsetField(7, parser),
	)
	b.FinishWithFileIdentifier(root, []byte(metadataIdentifier))
	return b.FinishedBytes()
}

func tensorInfos(b *flatbuffers.Builder, list []TensorInfo) flatbuffers.UOffsetT {
	tables := make([]flatbuffers.UOffsetT, len(list))
	for i, t := range list {
		tables[i] = tensorInfo(b, t)
	}
	return offsetVector(b, tables)
}

func tensorInfo(b *flatbuffers.Builder, t TensorInfo) flatbuffers.UOffsetT {
	name := text(b, t.Name)
	description := text(b, t.Description)
	var content, units, files flatbuffers.UOffsetT
	if t.Image != nil {
		image := writeTable(b, Int8Field(0, int8(t.Image.Color)))
		content = writeTable(b, Int8Field(0, contentImage), offsetField(1, image))
	}
	if t.Normalize != nil {
		mean := floatVector(b, t.Normalize.Mean)
		std := floatVector(b, t.Normalize.Std)
		options := writeTable(b, offsetField(0, mean), offsetField(1, std))
		unit := writeTable(b, Int8Field(0, processNormalization), offsetField(1, options))
		units = offsetVector(b, []flatbuffers.UOffsetT{unit})
	}
	if t.LabelFile != "" {
		file := text(b, t.LabelFile)
		labels := writeTable(b, offsetField(0, file), Int8Field(2, associatedAxisLabels))
		files = offsetVector(b, []flatbuffers.UOffsetT{labels})
	}
	return writeTable(b,
		offsetField(0, name),
		offsetField(1, description),
		offsetField(3, content),
		offsetField(4, units),
		offsetField(6, files),
	)
}
