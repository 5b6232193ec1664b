package main

import (
	"bytes"
	"fmt"
	"image/png"
	"os"
	"path/filepath"

	"github.com/nngpu/nngpu/examples/digits/train/internal/convnet"
	"github.com/nngpu/nngpu/examples/digits/train/internal/export"
	"github.com/nngpu/nngpu/examples/digits/train/internal/quantize"
	"github.com/nngpu/nngpu/examples/digits/train/internal/typeface"
)

func write(dir string, net *convnet.Network, q *quantize.Network, faces []typeface.Family) error {
	float, err := export.Float(net)
	if err != nil {
		return fmt.Errorf("float file: %w", err)
	}
	integer, err := export.Int8(net, q)
	if err != nil {
		return fmt.Errorf("int8 file: %w", err)
	}
	files := map[string][]byte{
		"digits_f32.tflite": float,
		"digits_s8.tflite":  integer,
		export.LabelFile:    []byte(export.Labels),
	}
	for digit := range 10 {
		var b bytes.Buffer
		if err := png.Encode(&b, samplePicture(faces, digit)); err != nil {
			return fmt.Errorf("sample %d: %w", digit, err)
		}
		files[filepath.Join("samples", fmt.Sprintf("%d.png", digit))] = b.Bytes()
	}
	if err := os.MkdirAll(filepath.Join(dir, "samples"), 0o755); err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
