package main

import (
	"github.com/nngpu/nngpu/cmd/nngpu/internal/console"
	"github.com/nngpu/nngpu/driver/picture"
)

// maxLabelBytes bounds what is read into memory as a file of labels.
const maxLabelBytes = 16 << 20

// topEntry is one of the largest values of an output.
type topEntry struct {
	Index int     `json:"index"`
	Label string  `json:"label,omitempty"`
	Score float64 `json:"score"`
}

// best returns the top largest values with their labels, as picture.Top ranks them.
func best(values []float32, labels []string, top int) []topEntry {
	var list []topEntry
	for _, c := range picture.Top(values, labels, top) {
		list = append(list, topEntry{c.Index, c.Label, console.Finite(float64(c.Score))})
	}
	return list
}

// readLabels reads a file with one label a line; nil for an empty path.
func readLabels(path string) ([]string, error) {
	if path == "" {
		return nil, nil
	}
	data, err := readFile(path, maxLabelBytes)
	if err != nil {
		return nil, err
	}
	labels, err := picture.ParseLabels(data)
	if err != nil {
		return nil, usageError("%s holds %w", path, err)
	}
	return labels, nil
}
