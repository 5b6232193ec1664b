package main

import (
	"bytes"
	"context"
	"image/png"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/importer/tflite"
)

// TestSmokeTraining runs the whole program on little data. Even so the network must have learnt something, and the
// files must be there and alike on a second run.
func TestSmokeTraining(t *testing.T) {
	var logs [2]string
	var files [2]map[string][]byte
	for i := range files {
		dir := t.TempDir()
		var log bytes.Buffer
		o := options{seed: 5, out: dir, epochs: 2, pictures: 1600, testPictures: 200}
		require.NoError(t, run(context.Background(), o, &log))
		logs[i] = log.String()
		files[i] = map[string][]byte{}
		for _, name := range []string{"digits_f32.tflite", "digits_s8.tflite", "labels.txt", "samples/0.png", "samples/9.png"} {
			data, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err)
			files[i][name] = data
		}
	}
	require.Equal(t, logs[0], logs[1])
	require.Equal(t, files[0], files[1])

	var fields []string
	for line := range strings.Lines(logs[0]) {
		if strings.HasPrefix(line, "all ") {
			fields = strings.Fields(line)
		}
	}
	require.Len(t, fields, 5, logs[0])
	for _, f := range fields[2:4] {
		accuracy, err := strconv.ParseFloat(f, 64)
		require.NoError(t, err)
		require.Greater(t, accuracy, 20.0, "guessing gives 10")
	}
}

func TestRunRefuses(t *testing.T) {
	require.Error(t, run(context.Background(), options{}, &bytes.Buffer{}))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	o := options{out: t.TempDir(), epochs: 1, pictures: 64, testPictures: 1}
	require.ErrorIs(t, run(ctx, o, &bytes.Buffer{}), context.Canceled)
}

// TestShippedFiles checks what lies in the example's folder: importable, small, with pictures to try.
func TestShippedFiles(t *testing.T) {
	const dir = ".."
	for _, name := range []string{"digits_f32.tflite", "digits_s8.tflite"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Less(t, len(data), 300<<10)
		n, err := tflite.Import(data)
		require.NoError(t, err, name)
		require.Equal(t, []int{1, 28, 28, 1}, n.Inputs[0].Shape)
	}
	for digit := range 10 {
		f, err := os.Open(filepath.Join(dir, "samples", strconv.Itoa(digit)+".png"))
		require.NoError(t, err)
		defer f.Close()
		c, err := png.DecodeConfig(f)
		require.NoError(t, err)
		require.Equal(t, sampleEdge, c.Width)
	}
}
