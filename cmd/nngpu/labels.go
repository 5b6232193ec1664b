package main

import (
	"math"
	"sort"
	"strings"
	"unicode/utf8"
)

// maxLabelBytes bounds what is read into memory as a file of labels.
const maxLabelBytes = 16 << 20

// topEntry is one of the largest values of an output.
type topEntry struct {
	Index int     `json:"index"`
	Label string  `json:"label,omitempty"`
	Score float64 `json:"score"`
}

// best returns the top largest values with their labels, largest first and equal ones by index. Values that
// are not numbers have no rank and are left out.
func best(values []float32, labels []string, top int) []topEntry {
	var list []topEntry
	for i, v := range values {
		if math.IsNaN(float64(v)) {
			continue
		}
		e := topEntry{Index: i, Score: finite(float64(v))}
		if i < len(labels) {
			e.Label = labels[i]
		}
		list = append(list, e)
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].Score > list[j].Score })
	return list[:min(top, len(list))]
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
	text := strings.TrimRight(string(data), "\r\n")
	if text == "" || !utf8.ValidString(text) {
		return nil, usageError("%s holds no labels: one a line, as UTF-8 text", path)
	}
	labels := strings.Split(text, "\n")
	for i := range labels {
		labels[i] = strings.TrimSpace(labels[i])
	}
	return labels, nil
}
