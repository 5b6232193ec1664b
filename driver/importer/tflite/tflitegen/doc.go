// Package tflitegen writes .tflite flatbuffers (file identifier "TFL3").
//
// It serves programs that make networks of their own and tests that need a file no converter would produce. A
// Model is plain data; Marshal lays it out. Nothing of the format's generated code is used: every table is
// described as a list of fields with their vtable slots, the field numbers of TensorFlow Lite's schema.fbs and of
// TFLite Support's metadata_schema.fbs.
//
// Equal models give equal bytes. The package knows the layout of the file, not the meaning of its operators: it
// checks that indices exist and that constants have the size their shape asks for, no more.
package tflitegen
